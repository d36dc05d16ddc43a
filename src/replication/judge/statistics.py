"""Tests and intervals that judge claims from few seeds.

Every seed is one independent draw; a comparison whose value does not depend on the seed has zero
variance, and its p is then 0 if the claim holds and 1 if not. p is the probability of data at
least as favourable to the claim as the seeds' own, if the null hypothesis is true.

Samples are computed in units of a power of two of their own size: so no square overflows or
vanishes, and every other number keeps its bits.
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
OUT_OF_RANGE = "numbers are too small or too large to be compared"
"""Reason why a comparison is not measured whose numbers no computer holds."""


class Limits(NamedTuple):
    """Ends of an interval."""

    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


class _Sample(NamedTuple):
    """Size, mean and unbiased variance of seeds, in units of 2^exponent."""

    size: int
    mean: float
    variance: float
    exponent: int

    def in_units(self, exponent: int) -> "_Sample":
        """Return the sample in other units."""
        shift = self.exponent - exponent
        mean, variance = shifted(self.mean, shift), shifted(self.variance, 2 * shift)
        return _Sample(self.size, float(mean), float(variance), exponent)


class _Estimate(NamedTuple):
    """An estimate whose distance from the truth, over its error, is Student's t.

    Value and error are in units of 2^exponent.
    """

    value: float
    error: float
    dof: float
    exponent: int


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
    return _tail(mean.value - _in_units(_finite(bound, "bound"), mean), mean)


def t_test_below(values: ArrayLike, bound: float) -> float:
    """Test that the mean lies below a bound; arguments and p as in `t_test_above`."""
    return t_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_test_above(values: ArrayLike, bound: float) -> float:
    """Test that the median lies above a bound: P(B >= number of values above the bound).

    B is binomial with n trials of probability 1/2. The test keeps its level whatever the shape of
    the spread, where that of a mean does not over a few skewed seeds.

    Args:
        values: [n] one value per seed; -inf where no lower end of a value is known.
        bound: lower bound that is claimed.

    Returns:
        p of the null hypothesis that the median is at most the bound; values at the bound speak
        for that.

    Raises:
        InputError: for fewer than 2 seeds, a value that is no number, or an infinite bound.
    """
    array = _ordinal(values)
    return _at_least(int(np.count_nonzero(array > _finite(bound, "bound"))), array.size)


def sign_test_below(values: ArrayLike, bound: float) -> float:
    """Test that the median lies below a bound; arguments and p as in `sign_test_above`."""
    return sign_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_interval(values: ArrayLike, confidence: float) -> Limits:
    """Return the interval for the median; sign tests begin to pass at the interval's ends.

    Args:
        values: [n] one value per seed; infinite where one of its ends is not known.
        confidence: least probability that the interval covers the median.

    Returns:
        The interval; from -inf to inf where no number of signs suffices.

    Raises:
        InputError: for fewer than 2 seeds, a value that is no number, or a confidence outside
            (0, 1).
    """
    _check_confidence(confidence)
    ordered = np.sort(_ordinal(values))
    size = ordered.size
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
    first, second = _in_same_units(a, b)
    squares = (first.size - 1) * first.variance + (second.size - 1) * second.variance
    return float(shifted(math.sqrt(squares / (first.size + second.size - 2)), first.exponent))


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
    return _tail(_in_units(margin, difference) - abs(difference.value), difference)


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
    beyond = abs(difference.value) - _in_units(_finite(margin, "margin"), difference)
    return _tail(beyond, difference)


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


def _ordinal(values: ArrayLike, *, finite: bool = False) -> Floats:
    """Return values that can be put in order, and computed with if they are finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise UnmeasurableError(
            f"a test over seeds needs a list of 2 or more values, not values of shape {array.shape}"
        )
    wrong = np.count_nonzero(~np.isfinite(array) if finite else np.isnan(array))
    if wrong:
        raise UnmeasurableError(
            f"every value of a test must be {'finite' if finite else 'a number'}, but {wrong} of"
            f" {array.size} are not"
        )
    return array


def _sample(values: ArrayLike) -> _Sample:
    array = _ordinal(values, finite=True)
    exponent = size_exponent(array)
    scaled = shifted(array, -exponent)
    # Relative to the first, equal values have their own mean and zero variance despite rounding.
    apart = scaled - scaled[0]
    mean, variance = scaled[0] + apart.mean(), apart.var(ddof=1)
    return _Sample(array.size, float(mean), float(variance), exponent)


def size_exponent(array: Floats) -> int:
    """Return the least exponent of two that is above all of an array's values, whatever the sign.

    Divided by that power, the values lie between -1 and 1; all numbers that are computed from them
    have the bits that they would have without, except where these would overflow or vanish.
    """
    return int(np.frexp(np.abs(array).max())[1])


def shifted(numbers: ArrayLike, exponent: int) -> Floats:
    """Return numbers times 2^exponent, infinite where that is too large."""
    with np.errstate(all="ignore"):
        return np.asarray(np.ldexp(np.asarray(numbers, dtype=np.float64), exponent))


def mean_and_spread(values: ArrayLike) -> tuple[float, float]:
    """Return mean and standard deviation of seeds, as numpy has them where no number overflows."""
    array = np.asarray(values, dtype=np.float64)
    exponent = size_exponent(array)
    scaled = shifted(array, -exponent)
    mean, spread = shifted([scaled.mean(), scaled.std(ddof=1)], exponent)
    return float(mean), float(spread)


def _in_same_units(a: ArrayLike, b: ArrayLike) -> tuple[_Sample, _Sample]:
    """Return two samples in the units of the larger one that has a variance."""
    first, second = _sample(a), _sample(b)
    varied = [each.exponent for each in (first, second) if each.variance]
    exponent = max(varied or [first.exponent, second.exponent])
    return first.in_units(exponent), second.in_units(exponent)


def _in_units(number: float, estimate: _Estimate) -> float:
    """Return a number in the units of an estimate."""
    return float(shifted(number, -estimate.exponent))


def _mean(values: ArrayLike) -> _Estimate:
    sample = _sample(values)
    error = math.sqrt(sample.variance / sample.size)
    return _Estimate(sample.mean, error, sample.size - 1, sample.exponent)


def _difference(a: ArrayLike, b: ArrayLike) -> _Estimate:
    first, second = _in_same_units(a, b)
    u, v = first.variance / first.size, second.variance / second.size
    share = u / (u + v) if u + v > 0 else 0.5
    dof = 1 / (share**2 / (first.size - 1) + (1 - share) ** 2 / (second.size - 1))
    return _Estimate(first.mean - second.mean, math.sqrt(u + v), dof, first.exponent)


def _limits(estimate: _Estimate, confidence: float) -> Limits:
    _check_confidence(confidence)
    half = -float(scipy.special.stdtrit(estimate.dof, (1 - confidence) / 2)) * estimate.error
    low, high = shifted([estimate.value - half, estimate.value + half], estimate.exponent)
    return Limits(float(low), float(high))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must lie between 0 and 1, but is {confidence}")


def _tail(excess: float, estimate: _Estimate) -> float:
    """Return P(T >= excess / error), or its limit as the error vanishes."""
    if math.isnan(excess):
        raise UnmeasurableError(OUT_OF_RANGE)
    if estimate.error == 0:
        return 0.0 if excess > 0 else 1.0
    return float(scipy.special.stdtr(estimate.dof, -excess / estimate.error))


def _finite(number: float, name: str) -> float:
    if not math.isfinite(number):
        raise InputError(f"the {name} must be finite, but is {number}")
    return number
