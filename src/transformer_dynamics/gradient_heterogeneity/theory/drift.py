"""Drift under signs of what softmax does not see: the mean of a linear head's biases and rows.

f = V phi + b with C classes, softmax and cross-entropy. In a batch of m with n_k samples of class k
the gradient of b is g_k = mean_i p_ik - n_k/m, with sum_k g_k = 0. So SGD, with and without
momentum, keeps mean_k b_k and mean_k v_k for ever. Signs do not. With uniform classes, per rate,

    any p > 0:           E[change of mean b] <= 1 - 2 (1 - 1/C)^m                             (1)
    p = 1/C:             E[change of mean b] = Pr(n > m/C) - Pr(n < m/C), n ~ Bin(m, 1/C)     (2)

(1) as a class that is absent has g_k > 0. It is an equality if every class that is present has
g_k < 0, as at p = 1/C for m < C. (2) is a sawtooth in m. It is zero near m = C log 2.

Of the sign of an average (1 - beta) sum_j beta^j g_(t-j), at p = 1/C, the skewness gives

    E ~ -gamma sqrt(1 - beta) (1 + beta)^1.5/(3 sqrt(2 pi) (1 + beta + beta^2))              (3)
    gamma = (1 - 2/C)/sqrt((m/C)(1 - 1/C)) ~ sqrt(C/m)

by one term of Edgeworth's series. It holds for an average over so many samples that its values are
no lattice any more: for beta = .9, and for beta = .5 if m >= C. Without an average it is wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from replication.base.errors import InputError


def absence_bound(shares: ArrayLike, batch: int) -> float:
    """Return the bound 1 - 2 mean_k (1 - pi_k)^m of the drift, in units of the rate.

    It is (1) if all pi_k = 1/C, and never more than (1), as (1 - pi)^m is convex. `shares` [C] are
    the probabilities pi_k of classes, m is the batch. Samples are drawn independently here, see
    `permuted_absence_bound` for batches from a permutation.
    """
    return float(1 - 2 * np.mean((1 - np.asarray(shares)) ** batch))


def permuted_absence_bound(counts: ArrayLike, batch: int) -> float:
    """Return the bound for batches from a permutation of the samples, where none is drawn twice.

    Class k is absent from a batch with probability prod_(i<m) (N - N_k - i)/(N - i), which is less
    than (1 - N_k/N)^m. The bound is 1 - 2 mean_k of these, in units of the rate; `counts` [C] are
    the samples N_k of classes, N in all. A batch that goes over the end of an epoch has two such
    parts, whose product is more, so that the bound holds for it, too.
    """
    known = np.asarray(counts, dtype=np.float64)
    total = known.sum()
    before = np.arange(min(batch, int(total)))
    left = np.maximum(total - known[:, None] - before, 0) / (total - before)
    return float(1 - 2 * left.prod(axis=1).mean())


def balanced_batch(classes: int) -> float:
    """Return the size m of a batch at which (1) is zero, log 2/-log(1 - 1/C) ~ C log 2."""
    return float(np.log(2) / -np.log1p(-1 / classes))


def uniform_drift(classes: int, batch: int) -> float:
    """Return the average drift (2) of SignSGD at p = 1/C, in units of the rate."""
    share = 1 / classes
    at_most, below = batch // classes, (batch - 1) // classes
    return float(binom.sf(at_most, batch, share) - binom.cdf(below, batch, share))


def skewness(classes: int, batch: int) -> float:
    """Return the skewness gamma in (3) of n ~ Bin(m, 1/C); 0 for two classes."""
    share = 1 / classes
    return float((1 - 2 * share) / np.sqrt(batch * share * (1 - share)))


def averaged_drift(classes: int, batch: int, beta: float) -> float:
    """Return the average drift (3) of signs of an average, in units of the rate.

    `beta` is 0 without an average. Raises an `InputError` unless 0 <= beta < 1.
    """
    if not 0 <= beta < 1:
        raise InputError(f"an average needs 0 <= beta < 1, not {beta}")
    shrinking = np.sqrt(1 - beta) * (1 + beta) ** 1.5 / (1 + beta + beta**2)
    return float(-skewness(classes, batch) * shrinking / (3 * np.sqrt(2 * np.pi)))


class Simulated(NamedTuple):
    """Drift of mean b per step in units of the rate, over independent draws."""

    drift: float
    error: float
    """Standard error of the mean."""


def simulated_drift(
    classes: int, batch: int, beta: float, random: np.random.Generator, draws: int, steps: int
) -> Simulated:
    """Simulate the drift of signs of the average at p = 1/C, by draws of batches.

    `beta` is 0 without an average. Of each of the independent `draws`, two at least, `steps` count,
    after 10/(1 - beta) that do not.
    """
    ahead = int(np.ceil(10 / (1 - beta))) if beta else 0
    average = np.zeros((draws, classes))
    moved = np.zeros(draws)
    shares = np.full(classes, 1 / classes)
    for step in range(ahead + steps):
        counts = random.multinomial(batch, shares, size=draws)
        # C m g_k is a whole number, so that g_k = 0 is met exactly.
        average = beta * average + (batch - classes * counts)
        if step >= ahead:
            moved -= np.sign(average).mean(axis=1)
    moved /= steps
    return Simulated(float(moved.mean()), float(moved.std(ddof=1) / np.sqrt(draws)))
