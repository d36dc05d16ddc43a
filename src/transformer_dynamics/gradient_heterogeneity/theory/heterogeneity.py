"""Inequality of the gradients of a network's blocks, and curvature that goes with them or not.

A block is one tensor. Block b = 1..B has P_b entries, a gradient g_b and a Hessian H_bb:

    r_b = ||g_b||/sqrt(P_b)                     root mean square of an entry
    h_b = max(lambda_max(H_bb), 0)              curvature
    w_b = ||g_b||^2/||g||^2                     share of the gradient
    Lambda_G = sum_b w_b h_b                    what limits gradient descent
    Lambda_P = sum_b (P_b/P) h_b, P = sum P_b   what limits sign descent
    kappa = ||g||_1^2/(P ||g||^2)               how dense the gradient is, 1/P to 1

With best rates and no curvature between blocks, a step by signs gains kappa Lambda_G/Lambda_P times
what a step by gradients does. If entries are equally dense in all blocks, kappa_in,

    kappa = kappa_in/(1 + CV^2),  CV: coefficient of variation of r_b, entries counted equally

so that unequal r_b always lower kappa, and raise Lambda_G/Lambda_P only if h_b follows them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from replication.base.errors import InputError

Floats = NDArray[np.float64]


def gini(values: ArrayLike) -> Floats:
    """Return the Gini coefficient G = 2 sum_i i x_(i)/(B sum x) - (B + 1)/B: x [..., B] to [...].

    It is 0 for equal values, and 1 - 1/B for one value alone. The x are norms ||g_b|| or densities
    r_b. Raises an `InputError` for a negative value, and for zeros alone.
    """
    x = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    count = x.shape[-1]
    total = x.sum(axis=-1)
    if np.any(x < 0) or not np.all(total > 0):
        raise InputError("a Gini coefficient needs values that are not negative and not all zero")
    return np.asarray(2 * (x @ np.arange(1, count + 1)) / (count * total) - (count + 1) / count)


def lorenz(values: ArrayLike) -> Floats:
    """Return the share of the sum that the smallest 0, 1, ..., B values have, whose area gives G.

    G = 1 - (1/B) sum_i (share_i + share_(i+1)) for shares [..., B + 1], from 0 to 1, of values
    [..., B] as those of `gini`.
    """
    x = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    sums = np.cumsum(np.concatenate([np.zeros_like(x[..., :1]), x], axis=-1), axis=-1)
    return np.asarray(sums / sums[..., -1:])


def densities(norms: ArrayLike, sizes: ArrayLike) -> Floats:
    """Return r_b = ||g_b||/sqrt(P_b): [..., B] norms and [B] sizes to [..., B]."""
    return np.asarray(np.asarray(norms) / np.sqrt(np.asarray(sizes, dtype=np.float64)))


def log_spread(values: ArrayLike) -> Floats:
    """Return the standard deviation of log x over blocks, with divisor B: [..., B] x > 0 to [...].

    Raises an `InputError` for a value that is not positive.
    """
    return np.asarray(np.log(_positive(values)).std(axis=-1))


def extent(values: ArrayLike) -> Floats:
    """Return the largest over the smallest x: [..., B] to [...]; an `InputError` unless x > 0."""
    x = _positive(values)
    return np.asarray(x.max(axis=-1) / x.min(axis=-1))


def _positive(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if not np.all(x > 0):
        raise InputError("logarithms and ratios over blocks need values above zero")
    return x


class Alignment(NamedTuple):
    """Dependence of curvature on the gradient's density from block to block."""

    slope: float
    """Slope a of log h_b = a log r_b + constant, by least squares."""
    rank: float
    """Spearman's correlation of h_b and r_b."""
    blocks: int
    """Number of blocks with a positive h_b and r_b; only these count."""


def alignment(curvatures: ArrayLike, density: ArrayLike) -> Alignment:
    """Return slope and rank correlation of curvatures h_b [B] on densities r_b [B].

    Raises an `InputError` if fewer than three blocks have positive values.
    """
    h, r = np.asarray(curvatures, dtype=np.float64), np.asarray(density, dtype=np.float64)
    kept = (h > 0) & (r > 0)
    if kept.sum() < 3:
        raise InputError("a slope over blocks needs three blocks with gradient and curvature")
    h, r = np.log(h[kept]), np.log(r[kept])
    centred = r - r.mean()
    return Alignment(
        float(centred @ h / (centred @ centred)), float(spearmanr(r, h).statistic), int(kept.sum())
    )


def kappa(absolute: ArrayLike, norm: ArrayLike, count: ArrayLike) -> Floats:
    """Return kappa = ||g||_1^2/(P ||g||^2) of `absolute` ||g||_1 and `norm` ||g||, all [...].

    `count` is P, or the number of entries that are not zero, which alone a sign moves.
    """
    return np.asarray(np.square(absolute) / (np.asarray(count) * np.square(norm)))


def variation(density: ArrayLike, sizes: ArrayLike) -> Floats:
    """Return the CV of r_b with weights P_b/P: [..., B] r_b and [B] P_b to [...]."""
    share = np.asarray(sizes, dtype=np.float64) / np.sum(sizes)
    r = np.asarray(density, dtype=np.float64)
    mean = r @ share
    return np.asarray(np.sqrt(np.square(r - mean[..., None]) @ share) / mean)


def gradient_weighted(norms: ArrayLike, curvatures: ArrayLike) -> Floats:
    """Return Lambda_G = sum_b w_b h_b: [..., B] ||g_b|| and [..., B] h_b to [...]."""
    squares = np.square(np.asarray(norms, dtype=np.float64))
    return np.asarray((squares * curvatures).sum(axis=-1) / squares.sum(axis=-1))


def size_weighted(sizes: ArrayLike, curvatures: ArrayLike) -> Floats:
    """Return Lambda_P = sum_b (P_b/P) h_b: [B] P_b and [..., B] h_b to [...]."""
    weights = np.asarray(sizes, dtype=np.float64)
    return np.asarray(np.asarray(curvatures) @ weights / weights.sum())


def advantage(
    sizes: ArrayLike, norms: ArrayLike, absolute: ArrayLike, curvatures: ArrayLike
) -> Floats:
    """Return `kappa` Lambda_G/Lambda_P [...], the best sure step by signs over that by gradients.

    Above 1 signs win. Sizes P_b are [B]; ||g_b||, absolute ||g_b||_1 and curvatures h_b [..., B].
    """
    whole = np.linalg.norm(np.asarray(norms, dtype=np.float64), axis=-1)
    dense = kappa(np.sum(absolute, axis=-1), whole, np.sum(sizes))
    ratio = gradient_weighted(norms, curvatures) / size_weighted(sizes, curvatures)
    return np.asarray(dense * ratio)


def lognormal_advantage(inner: float, sigma: ArrayLike, slope: ArrayLike) -> Floats:
    """Return the `advantage` of many blocks of one size, lognormal r_b and h_b ~ r_b^a.

    kappa_in exp(sigma^2 (2a - 1)): for signs if a > 1/2, so the direction of heterogeneity decides.
    `inner` is kappa_in, sigma the standard deviation of log r_b, a the slope.
    """
    return np.asarray(inner * np.exp(np.square(sigma) * (2 * np.asarray(slope) - 1)))


def block_rate_gain(norms: ArrayLike, curvatures: ArrayLike) -> Floats:
    """Return K = (sum_b w_b h_b)(sum_b w_b/h_b) >= 1: ||g_b|| and h_b [..., B] to [...].

    It is the gain of rates eta_b = 1/h_b over one best rate. Raises an `InputError` for a curvature
    that is not positive, which has no such rate.
    """
    h = _positive(curvatures)
    return np.asarray(gradient_weighted(norms, h) * gradient_weighted(norms, 1 / h))
