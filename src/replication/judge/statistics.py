"""Tests and intervals that judge claims from few seeds, and corrections for many tests.

A sample has one value per seed, [n], and every seed is one independent draw. p is the probability
of data at least as favourable to the claim as the seeds' own, if the null hypothesis is true.
Equal values have zero variance: p is then 0 if the claim holds and 1 if not, where SciPy's and
statsmodels' own tests divide by zero.
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


class Estimate(NamedTuple):
    """An estimate whose distance from the truth, over its error, is Student's t."""

    value: float
    error: float
    dof: float

    def p_above(self, bound: float) -> float:
        """Return p of the truth being at most a bound: P(T >= (value - bound) / error)."""
        return self._tail(self.value - bound)

    def p_below(self, bound: float) -> float:
        """Return p of the truth being at least a bound, see `p_above`."""
        return self._tail(bound - self.value)

    def p_within(self, margin: float) -> float:
        """Return p of the truth being a margin or more away from 0, by two one-sided tests.

        An estimate of 0 without error is within any margin, even 0, which is its margin in standard
        deviations. A margin in `pooled_std` of the same seeds is itself an estimate. Of 10 against
        10 seeds with equal variances, the test at level 5 % then errs with 3.8 % at a margin of 1
        standard deviation and 4.5 % at 1.5, but with 8.3 % at 3; of 100 against 100 with 5.5 % at 1
        and 6.5 % at 1.5.
        """
        is_zero = self.value == 0 and self.error == 0
        return 0.0 if is_zero else self._tail(margin - abs(self.value))

    def p_beyond(self, margin: float) -> float:
        """Return p of the truth being within a margin of 0, on the side of the estimate.

        As either side can be that of the estimate, a test takes twice this.
        """
        return self._tail(abs(self.value) - margin)

    def interval(self, confidence: float) -> Limits:
        """Return the interval for the truth: value +- t error."""
        half = -float(scipy.special.stdtrit(self.dof, (1 - confidence) / 2)) * self.error
        return Limits(self.value - half, self.value + half)

    def _tail(self, excess: float) -> float:
        """Return P(T >= excess / error), or its limit as the error vanishes."""
        if self.error == 0:
            return 0.0 if excess > 0 else 1.0
        return float(scipy.special.stdtr(self.dof, -excess / self.error))


def mean_of(values: ArrayLike) -> Estimate:
    """Return the mean, with error s / sqrt(n) and n - 1 degrees of freedom."""
    size, mean, variance = _moments(values)
    return Estimate(mean, math.sqrt(variance / size), size - 1)


def difference_of(a: ArrayLike, b: ArrayLike) -> Estimate:
    """Return mean(a) - mean(b), with error sqrt(u + v), u = s_a^2/n and v = s_b^2/m.

    The degrees of freedom are Welch's, (u + v)^2 / (u^2/(n - 1) + v^2/(m - 1)).
    """
    (n, mean, variance), (m, other_mean, other_variance) = _moments(a), _moments(b)
    u, v = variance / n, other_variance / m
    share = u / (u + v) if u + v > 0 else 0.5
    dof = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
    return Estimate(mean - other_mean, math.sqrt(u + v), dof)


def pooled_std(a: ArrayLike, b: ArrayLike) -> float:
    """Return one seed's standard deviation, sqrt(((n - 1) s_a^2 + (m - 1) s_b^2) / (n + m - 2))."""
    (n, _, u), (m, _, v) = _moments(a), _moments(b)
    return math.sqrt(((n - 1) * u + (m - 1) * v) / (n + m - 2))


def _moments(values: ArrayLike) -> tuple[int, float, float]:
    """Return size, mean and unbiased variance of a sample."""
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2 or not np.isfinite(array).all():
        raise UnmeasurableError("a test over seeds needs 2 or more values, all of them finite")
    # Relative to the first, equal values have their own mean and zero variance despite rounding.
    apart = array - array[0]
    return array.size, float(array[0] + apart.mean()), float(apart.var(ddof=1))


class Median(NamedTuple):
    """The median of values in ascending order, [n], tested by signs.

    The tests keep their level whatever the shape of the spread, where those of a mean do not over a
    few skewed seeds. Values at a bound speak for the null hypothesis.
    """

    values: Floats

    def p_above(self, bound: float) -> float:
        """Return p of the median being at most a bound: P(B >= number of values above the bound).

        B is binomial with n trials of probability 1/2.
        """
        return _at_least(np.count_nonzero(self.values > bound), self.values.size)

    def p_below(self, bound: float) -> float:
        """Return p of the median being at least a bound, see `p_above`."""
        return _at_least(np.count_nonzero(self.values < bound), self.values.size)

    def interval(self, confidence: float) -> Limits:
        """Return the interval for the median; sign tests begin to pass at its ends.

        It covers the median with the given probability or more, and goes from -inf to inf where no
        number of signs suffices.
        """
        size, level = self.values.size, (1 - confidence) / 2 * (1 + 1e-12)
        for needed in range(size + 1):
            if _at_least(needed, size) <= level:
                return Limits(float(self.values[-needed]), float(self.values[needed - 1]))
        return Limits(-math.inf, math.inf)


def median_of(values: ArrayLike) -> Median:
    """Return the median of a sample."""
    return Median(np.sort(np.asarray(values, dtype=np.float64)))


def _at_least(count: np.integer | int, size: int) -> float:
    """Return P(B >= count), B binomial with probability 1/2."""
    return float(scipy.special.bdtrc(count - 1, size, 0.5))


def add_intervals(rows: "pd.DataFrame", keys: Sequence[str], confidence: float) -> "pd.DataFrame":
    """Add columns mean, lower and upper: the mean of `value` over seeds, and its t interval.

    Groups of rows have equal `keys`, of which a missing value is one, too. They stand one after
    the other in the result. One seed has no interval.
    """
    import pandas as pd

    parts = []
    for _, own in rows.groupby(list(keys), dropna=False, sort=False):
        values = own["value"]
        several = len(values) > 1
        low, high = mean_of(values).interval(confidence) if several else (math.nan, math.nan)
        parts.append(own.assign(mean=values.mean(), lower=low, upper=high))
    return pd.concat(parts, ignore_index=True)


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


def hochberg(p_values: ArrayLike) -> Floats:
    """Return the p values of one claim's parts, adjusted by Hochberg's correction.

    The k-th smallest of n is adjusted to the least of (n - j + 1) p_j, j >= k. If all p are at most
    a level, so are all adjusted ones: that a conjunction holds needs no correction, as each part
    has to pass (an intersection-union test). Otherwise the parts whose adjusted p is at most a
    level contain a wrong one with at most that probability, if the tests are independent or help
    each other (Hochberg 1988, Biometrika 75, 800).
    The result has the same order.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * np.arange(1, p.size + 1))
    return adjusted


def correct_p_values(claims: Sequence[ArrayLike], levels: Sequence[float]) -> list[Floats]:
    """Return the p values of the comparisons of several claims, corrected for many tests.

    Claims pass one after the other, as in Holm's correction, each by the largest p of its
    comparisons, as all have to pass. Each p is then adjusted within its claim (`hochberg`), and
    multiplied by the number of claims that had not passed before. Before a first wrong decision on
    one of k claims with a wrong part, at most the others have passed, so that each of the k is
    tested at a k-th of the level: some comparison of a family is wrongly decided with at most
    that probability.

    Each claim has p of its comparisons, at least one, and its level, the probability of a wrong
    decision. The adjusted p have the same order and are at most 1.
    """
    worst = [float(np.max(p)) for p in claims]
    left = len(claims)
    factors = [0] * left
    for index in sorted(range(len(claims)), key=worst.__getitem__):
        factors[index] = left
        if worst[index] * left > levels[index]:
            break
        left -= 1
    return [
        np.minimum((factor or left) * hochberg(p), 1)
        for p, factor in zip(claims, factors, strict=True)
    ]
