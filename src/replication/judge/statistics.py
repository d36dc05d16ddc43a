"""Tests and intervals that judge claims from few seeds.

A sample has one value per seed, [n], and every seed is one independent draw. p is the probability
of data at least as favourable to the claim as the seeds' own, if the null hypothesis is true.
Equal values have zero variance: p is then 0 if the claim holds and 1 if not.

Fewer than 2 seeds, or a value that is not finite, raise an UnmeasurableError; sign tests take
infinite values, too.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy  # its modules are loaded where they are used: they cost most of a second
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import UnmeasurableError

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class Limits(NamedTuple):
    """Ends of an interval."""

    low: float
    high: float


class _Estimate(NamedTuple):
    """An estimate whose distance from the truth, over its error, is Student's t."""

    value: float
    error: float
    dof: float


def t_interval(values: ArrayLike, confidence: float) -> Limits:
    """Return the interval for the mean: mean +- t s / sqrt(n), with n - 1 degrees of freedom."""
    return _limits(_mean(values), confidence)


def add_intervals(rows: "pd.DataFrame", keys: Sequence[str], confidence: float) -> "pd.DataFrame":
    """Add columns mean, lower and upper: the mean of `value` over seeds, and its t interval.

    Groups of rows have equal `keys`, of which a missing value is one, too. They stand one after
    the other in the result. One seed has no interval.
    """
    import pandas as pd

    parts = []
    for _, own in rows.groupby(list(keys), dropna=False, sort=False):
        values = own["value"]
        ends = t_interval(values, confidence) if len(values) > 1 else (math.nan, math.nan)
        parts.append(own.assign(mean=values.mean(), lower=ends[0], upper=ends[1]))
    return pd.concat(parts, ignore_index=True)


def t_test_above(values: ArrayLike, bound: float) -> float:
    """Return p of the mean being at most a bound: P(T >= (mean - bound) / (s / sqrt(n)))."""
    mean = _mean(values)
    return _tail(mean.value - bound, mean)


def t_test_below(values: ArrayLike, bound: float) -> float:
    """Return p of the mean being at least a bound, see `t_test_above`."""
    return t_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_test_above(values: ArrayLike, bound: float) -> float:
    """Return p of the median being at most a bound: P(B >= number of values above the bound).

    B is binomial with n trials of probability 1/2. The test keeps its level whatever the shape of
    the spread, where that of a mean does not over a few skewed seeds. A value is -inf where no
    lower end of it is known; values at the bound speak for the null hypothesis.
    """
    array = _seeds(values, may_be_infinite=True)
    return _at_least(int(np.count_nonzero(array > bound)), array.size)


def sign_test_below(values: ArrayLike, bound: float) -> float:
    """Return p of the median being at least a bound, see `sign_test_above`."""
    return sign_test_above(-np.asarray(values, dtype=np.float64), -bound)


def sign_interval(values: ArrayLike, confidence: float) -> Limits:
    """Return the interval for the median; sign tests begin to pass at its ends.

    It covers the median with the given probability or more, and goes from -inf to inf where no
    number of signs suffices.
    """
    ordered = np.sort(_seeds(values, may_be_infinite=True))
    size, level = ordered.size, (1 - confidence) / 2 * (1 + 1e-12)
    enough = (count for count in range(size + 1) if _at_least(count, size) <= level)
    needed = next(enough, None)
    if needed is None:
        return Limits(-math.inf, math.inf)
    return Limits(float(ordered[size - needed]), float(ordered[needed - 1]))


def _at_least(count: int, size: int) -> float:
    """Return P(B >= count), B binomial with probability 1/2."""
    return float(scipy.special.bdtrc(count - 1, size, 0.5))


def pooled_std(a: ArrayLike, b: ArrayLike) -> float:
    """Return one seed's standard deviation, sqrt(((n - 1) s_a^2 + (m - 1) s_b^2) / (n + m - 2))."""
    (n, _, u), (m, _, v) = _moments(a), _moments(b)
    return math.sqrt(((n - 1) * u + (m - 1) * v) / (n + m - 2))


def welch_interval(a: ArrayLike, b: ArrayLike, confidence: float) -> Limits:
    """Return the interval for mean(a) - mean(b): the difference +- t sqrt(s_a^2/n + s_b^2/m).

    The degrees of freedom are Welch's, (u + v)^2 / (u^2/(n - 1) + v^2/(m - 1)) with u = s_a^2/n
    and v = s_b^2/m.
    """
    return _limits(_difference(a, b), confidence)


def welch_equivalence(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Return p of two means differing by a margin or more, by two one-sided Welch tests.

    The larger p of the two is P(T >= (margin - |mean(a) - mean(b)|) / sqrt(s_a^2/n + s_b^2/m)).
    Two samples without variance and with the same value are equal whatever the margin, even 0,
    which is their margin in standard deviations.

    A margin in `pooled_std` of the same seeds is itself an estimate. Of 10 against 10 seeds with
    equal variances, the test at level 5 % then errs with 3.8 % at a margin of 1 standard deviation
    and 4.5 % at 1.5, but with 8.3 % at 3; of 100 against 100 with 5.5 % at 1 and 6.5 % at 1.5.
    """
    difference = _difference(a, b)
    if difference.value == 0 and difference.error == 0:
        return 0.0
    return _tail(margin - abs(difference.value), difference)


def welch_beyond(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Return p of two means differing by at most a margin, the opposite of `welch_equivalence`.

    P(T >= (|mean(a) - mean(b)| - margin) / sqrt(s_a^2/n + s_b^2/m)), one-sided: as either mean may
    be the larger one, a test takes twice this.
    """
    difference = _difference(a, b)
    return _tail(abs(difference.value) - margin, difference)


def resolution(
    error: float, dof: float, level: float, comparisons: int, probability: float
) -> float:
    """Return the distance from a bound at which all t tests against the bound pass.

    The least d with P(T' >= t)^comparisons = probability, T' noncentral t with noncentrality
    d/error and t the critical value of the central one at the level of each test. The comparisons
    count as independent, which makes d too large rather than too small if they help each other.
    Error and d are in standard deviations of one seed.
    """
    critical, each = -scipy.special.stdtrit(dof, level), probability ** (1 / comparisons)
    largest = 10 * critical * max(1.0, -float(scipy.special.ndtri(1 - each)))
    found = scipy.optimize.brentq(
        lambda ncp: scipy.stats.nct.sf(critical, dof, ncp) - each, 0, largest
    )
    return float(found) * error


def _seeds(values: ArrayLike, *, may_be_infinite: bool = False) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < 2:
        raise UnmeasurableError(
            f"a test over seeds needs a list of 2 or more values, not values of shape {array.shape}"
        )
    wrong = np.count_nonzero(np.isnan(array) if may_be_infinite else ~np.isfinite(array))
    if wrong:
        raise UnmeasurableError(
            f"every value of a test must be {'a number' if may_be_infinite else 'finite'}, but"
            f" {wrong} of {array.size} are not"
        )
    return array


def _moments(values: ArrayLike) -> tuple[int, float, float]:
    """Return size, mean and unbiased variance of a sample."""
    array = _seeds(values)
    # Relative to the first, equal values have their own mean and zero variance despite rounding.
    apart = array - array[0]
    return array.size, float(array[0] + apart.mean()), float(apart.var(ddof=1))


def _mean(values: ArrayLike) -> _Estimate:
    size, mean, variance = _moments(values)
    return _Estimate(mean, math.sqrt(variance / size), size - 1)


def _difference(a: ArrayLike, b: ArrayLike) -> _Estimate:
    (n, mean, variance), (m, other_mean, other_variance) = _moments(a), _moments(b)
    u, v = variance / n, other_variance / m
    share = u / (u + v) if u + v > 0 else 0.5
    dof = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
    return _Estimate(mean - other_mean, math.sqrt(u + v), dof)


def _limits(estimate: _Estimate, confidence: float) -> Limits:
    half = -float(scipy.special.stdtrit(estimate.dof, (1 - confidence) / 2)) * estimate.error
    return Limits(estimate.value - half, estimate.value + half)


def _tail(excess: float, estimate: _Estimate) -> float:
    """Return P(T >= excess / error), or its limit as the error vanishes."""
    if estimate.error == 0:
        return 0.0 if excess > 0 else 1.0
    return float(scipy.special.stdtr(estimate.dof, -excess / estimate.error))
