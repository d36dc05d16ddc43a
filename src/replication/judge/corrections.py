"""Corrections of p values for many tests: within a claim, and over the claims of a family."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
