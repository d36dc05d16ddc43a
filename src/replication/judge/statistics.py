"""Tests and intervals that judge claims from few seeds.

Every seed is one independent draw; a comparison whose value does not depend on the seed has zero
variance, and its p is then 0 if the claim holds and 1 if not. p is the probability of data at
least as favourable to the claim as the seeds' own, if the null hypothesis is true.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy  # its modules are loaded where they are used: they cost most of a second
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import InputError, UnmeasurableError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """Ends of an interval."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


class _Sample(NamedTuple):
    """Size, mean and unbiased variance of seeds."""

    size: int
    mean: float
    variance: float


class _Estimate(NamedTuple):
    """An estimate whose distance from the truth, over its error, is Student's t."""

    value: float
    error: float
    dof: float


def t_interval(values: ArrayLike, confidence: float) -> Limits:
    """Return the interval for the mean: mean +- t s / sqrt(n), with n - 1 degrees of freedom.

    Args:
        values: [n] one value per seed.
        confidence: probability that the interval covers the mean.

    Returns:
        The interval; its ends are equal if all values are.

    Raises:
        InputError: for fewer than 2 seeds, a value that is not finite, or a confidence outside
            (0, 1).
    """
    return _limits(_mean(values), confidence)


def add_intervals(rows: "pd.DataFrame", keys: Sequence[str], confidence: float) -> "pd.DataFrame":
    """Add the mean over seeds of column `value`, and its t interval, to each group of rows.

    Args:
        rows: one row per seed of each group.
        keys: columns that tell groups apart; a missing value is a group of its own.
        confidence: as in `t_interval`.

    Returns:
        The rows, group by group, with columns mean, lower and upper; one seed has no interval.
    """
    import pandas as pd

    parts = []
    for _, own in rows.groupby(list(keys), dropna=False, sort=False):
        values = own["value"]
        ends = t_interval(values, confidence) if len(values) > 1 else (math.nan, math.nan)
        parts.append(own.assign(mean=values.mean(), lower=ends[0], upper=ends[1]))
    return pd.concat(parts, ignore_index=True)


def t_test_above(values: ArrayLike, bound: float) -> float:
    """Test that the mean lies above a bound: P(T >= (mean - bound) / (s / sqrt(n))).

    Args:
        values: [n] one value per seed.
        bound: lower bound that is claimed.

    Returns:
        p of the null hypothesis that the mean is at most the bound; if all values are equal,
        0 if they lie above the bound and 1 otherwise.

    Raises:
        InputError: for fewer than 2 seeds, or a value or bound that is not finite.
    """
    mean = _mean(values)
    return _tail(mean.value - _finite(bound, "bound"), mean)


def t_test_below(values: ArrayLike, bound: float) -> float:
    """Test that the mean lies below a bound; arguments and p as in `t_test_above`."""
    return t_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_test_above(values: ArrayLike, bound: float) -> float:
    """Test that the median lies above a bound: P(B >= number of values above the bound).

    B is binomial with n trials of probability 1/2. The test keeps its level whatever the shape of
    the spread, where that of a mean does not over a few skewed seeds.

    Args:
        values: [n] one value per seed.
        bound: lower bound that is claimed.

    Returns:
        p of the null hypothesis that the median is at most the bound; values at the bound speak
        for that.

    Raises:
        InputError: for fewer than 2 seeds, or a value or bound that is not finite.
    """
    _sample(values)
    array = np.asarray(values, dtype=np.float64)
    return _at_least(int(np.count_nonzero(array > _finite(bound, "bound"))), array.size)


def sign_test_below(values: ArrayLike, bound: float) -> float:
    """Test that the median lies below a bound; arguments and p as in `sign_test_above`."""
    return sign_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_interval(values: ArrayLike, confidence: float) -> Limits:
    """Return the interval for the median; sign tests begin to pass at the interval's ends.

    Args:
        values: [n] one value per seed.
        confidence: least probability that the interval covers the median.

    Returns:
        The interval; from -inf to inf where no number of signs suffices.

    Raises:
        InputError: as `t_interval`.
    """
    _check_confidence(confidence)
    size = _sample(values).size
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    level = (1 - confidence) / 2 * (1 + 1e-12)
    enough = (count for count in range(size + 1) if _at_least(count, size) <= level)
    needed = next(enough, None)
    if needed is None:
        return Limits(-math.inf, math.inf)
    return Limits(float(ordered[size - needed]), float(ordered[needed - 1]))


def _at_least(count: int, size: int) -> float:
    """Return P(B >= count), B binomial with probability 1/2."""
    return float(scipy.special.bdtrc(count - 1, size, 0.5)) if count else 1.0


def pooled_std(a: ArrayLike, b: ArrayLike) -> float:
    """Return one seed's standard deviation, sqrt(((n - 1) s_a^2 + (m - 1) s_b^2) / (n + m - 2)).

    Args:
        a: [n] one value per seed.
        b: [m] the same of another sample.

    Returns:
        The pooled standard deviation.

    Raises:
        InputError: for fewer than 2 seeds, or a value that is not finite.
    """
    first, second = _sample(a), _sample(b)
    squares = (first.size - 1) * first.variance + (second.size - 1) * second.variance
    return math.sqrt(squares / (first.size + second.size - 2))


def welch_interval(a: ArrayLike, b: ArrayLike, confidence: float) -> Limits:
    """Return the interval for mean(a) - mean(b): the difference +- t sqrt(s_a^2/n + s_b^2/m).

    The degrees of freedom are Welch's, (u + v)^2 / (u^2/(n - 1) + v^2/(m - 1)) with u = s_a^2/n
    and v = s_b^2/m.

    Args:
        a: [n] one value per seed.
        b: [m] the same of another sample.
        confidence: probability that the interval covers the difference.

    Returns:
        The interval.

    Raises:
        InputError: for fewer than 2 seeds, a value that is not finite, or a confidence outside
            (0, 1).
    """
    return _limits(_difference(a, b), confidence)


def welch_equivalence(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Test that two means are equal within a margin, by two one-sided Welch tests.

    The larger p of the two is P(T >= (margin - |mean(a) - mean(b)|) / sqrt(s_a^2/n + s_b^2/m)).

    A margin in `pooled_std` of the same seeds is itself an estimate. Of 10 against 10 seeds with
    equal variances, the test at level 5 % then errs with 3.8 % at a margin of 1 standard deviation
    and 4.5 % at 1.5, but with 8.3 % at 3; of 100 against 100 with 5.5 % at 1 and 6.5 % at 1.5.

    Args:
        a: [n] one value per seed.
        b: [m] the same of another sample.
        margin: difference that no longer counts as equal, in the unit of the values.

    Returns:
        p of the null hypothesis that the means differ by the margin or more. Two samples without
        variance and with the same value are equal whatever the margin, even 0, which is what a
        margin in standard deviations is for them.

    Raises:
        InputError: for fewer than 2 seeds, or a value or margin that is not finite, or a negative
            margin.
    """
    if _finite(margin, "margin") < 0:
        raise InputError(f"the margin must not be negative, but is {margin}")
    difference = _difference(a, b)
    if difference.value == 0 and difference.error == 0:
        return 0.0
    return _tail(margin - abs(difference.value), difference)


def welch_beyond(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Test that two means differ by more than a margin, the opposite of `welch_equivalence`.

    P(T >= (|mean(a) - mean(b)| - margin) / sqrt(s_a^2/n + s_b^2/m)), one-sided: as either mean may
    be the larger one, a test takes twice this.

    Args:
        a: [n] one value per seed.
        b: [m] the same of another sample.
        margin: difference that still counts as equal, in the unit of the values.

    Returns:
        p of the null hypothesis that the means differ by at most the margin.

    Raises:
        InputError: for fewer than 2 seeds, or a value or margin that is not finite.
    """
    difference = _difference(a, b)
    return _tail(abs(difference.value) - _finite(margin, "margin"), difference)


def resolution(
    error: float, dof: float, level: float, comparisons: int, probability: float
) -> float:
    """Return the distance from a bound at which all t tests against the bound pass.

    The least d with P(T' >= t)^comparisons = probability, T' noncentral t with noncentrality
    d/error and t the critical value of the central one. The comparisons count as independent,
    which makes d too large rather than too small if they help each other.

    Args:
        error: standard error of each mean, in standard deviations of one seed.
        dof: degrees of freedom of the error.
        level: level of each test.
        comparisons: number of tests that must pass together.
        probability: probability that they pass together.

    Returns:
        d in standard deviations of one seed.
    """
    critical, each = -scipy.special.stdtrit(dof, level), probability ** (1 / comparisons)
    largest = 10 * critical * max(1.0, -float(scipy.special.ndtri(1 - each)))
    found = scipy.optimize.brentq(
        lambda ncp: scipy.stats.nct.sf(critical, dof, ncp) - each, 0, largest
    )
    return float(found) * error


def _sample(values: ArrayLike) -> _Sample:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise UnmeasurableError(
            f"a test over seeds needs a list of 2 or more values, not values of shape {array.shape}"
        )
    _check_finite(array)
    # Relative to the first, equal values have their own mean and zero variance despite rounding.
    shifted = array - array[0]
    return _Sample(array.size, float(array[0] + shifted.mean()), float(shifted.var(ddof=1)))


def _mean(values: ArrayLike) -> _Estimate:
    sample = _sample(values)
    return _Estimate(sample.mean, math.sqrt(sample.variance / sample.size), sample.size - 1)


def _difference(a: ArrayLike, b: ArrayLike) -> _Estimate:
    first, second = _sample(a), _sample(b)
    u, v = first.variance / first.size, second.variance / second.size
    share = u / (u + v) if u + v > 0 else 0.5
    dof = 1 / (share**2 / (first.size - 1) + (1 - share) ** 2 / (second.size - 1))
    return _Estimate(first.mean - second.mean, math.sqrt(u + v), dof)


def _limits(estimate: _Estimate, confidence: float) -> Limits:
    _check_confidence(confidence)
    half = -float(scipy.special.stdtrit(estimate.dof, (1 - confidence) / 2)) * estimate.error
    return Limits(estimate.value - half, estimate.value + half)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must lie between 0 and 1, but is {confidence}")


def _tail(excess: float, estimate: _Estimate) -> float:
    """Return P(T >= excess / error), or its limit as the error vanishes."""
    if estimate.error == 0:
        return 0.0 if excess > 0 else 1.0
    return float(scipy.special.stdtr(estimate.dof, -excess / estimate.error))


def _finite(number: float, name: str) -> float:
    if not math.isfinite(number):
        raise InputError(f"the {name} must be finite, but is {number}")
    return number


def _check_finite(array: Floats) -> None:
    wrong = np.count_nonzero(~np.isfinite(array))
    if wrong:
        raise UnmeasurableError(
            f"every value of a test must be finite, but {wrong} of {array.size} are not"
        )
