"""Attention on some keys over uniform attention, its correlation with their values, its change."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def entropy_over_uniform(entropy: Floats) -> float:
    """Return the mean over positions i >= 1 of entropy over that of uniform attention, ln(i + 1).

    The entropy is the mean of each position's attention, [T] in nats.
    """
    return float((entropy[1:] / np.log(np.arange(2, len(entropy) + 1))).mean())


def attention_over_uniform(attention: Floats, keys: NDArray[np.bool_]) -> float:
    """Return the attention on some keys over the attention that a uniform causal one would spend.

    Attention is [N, T, T] by window, query and key; the shape of the keys broadcasts to it.
    """
    length = attention.shape[-1]
    uniform = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
    # The first query has one key only.
    mass, expected = attention * keys, uniform * np.broadcast_to(keys, attention.shape)
    return float(mass[:, 1:].sum() / expected[:, 1:].sum())


def diagonal_over_uniform(attention: Floats) -> float:
    """Return the attention on a query's own position over uniform attention."""
    return attention_over_uniform(attention, np.eye(attention.shape[-1], dtype=bool)[None])


def first_over_uniform(attention: Floats) -> float:
    """Return the attention on the first position over uniform attention."""
    first = np.zeros((1, 1, attention.shape[-1]), dtype=bool)
    first[..., 0] = True
    return attention_over_uniform(attention, first)


def rank_correlation(attention: Floats, values: Floats, least_keys: int) -> float:
    """Return the mean over queries of the rank correlation of attention and a value of the keys.

    Attention is [N, T, T] by window, query and key; values are [N, T], nan where they are not
    known. Queries count that have at least `least_keys` known keys; without one the mean is nan.
    """
    correlations = [np.empty(0)]
    for query in range(least_keys - 1, attention.shape[-1]):
        known = values[:, : query + 1]
        enough = np.isfinite(known).sum(axis=1) >= least_keys
        if enough.any():
            row = np.where(np.isfinite(known), attention[:, query, : query + 1], np.nan)
            correlations.append(_spearman(row[enough], known[enough]))
    found = np.concatenate(correlations)
    # Where all keys are equal, there is nothing to rank.
    found = found[np.isfinite(found)]
    return float(found.mean()) if found.size else np.nan


def total_variation(before: Floats, after: Floats) -> float:
    """Return the mean over queries of half the sum over keys of |after - before|."""
    return float(np.abs(after - before).sum(axis=-1).mean() / 2)


def _spearman(a: Floats, b: Floats) -> Floats:
    """Return [N] rank correlation of the known values of each row."""
    ranks = [rankdata(side, axis=1, nan_policy="omit") for side in (a, b)]
    x, y = (rank - np.nanmean(rank, axis=1, keepdims=True) for rank in ranks)
    norm = np.sqrt(np.nansum(x**2, axis=1) * np.nansum(y**2, axis=1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(x * y, axis=1) / norm)
