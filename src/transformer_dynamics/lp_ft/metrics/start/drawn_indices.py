"""Indices of singular values that figures of spectra draw, and claims about spectra count."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FIRST_INDICES, INDEX_STEP = 10, 5
"""Indices of singular values that are drawn by default: the first ten, then each fifth."""


def drawn_mask(
    index: "pd.Series[int]", first: int = FIRST_INDICES, step: int = INDEX_STEP
) -> "pd.Series[bool]":
    """Return True for the indices that figures of spectra draw; they draw the last one besides.

    Args:
        index: indices from 1 on.
        first: number of first indices that are all drawn.
        step: distance of the drawn ones among the others.
    """
    return (index <= first) | (index % step == 0)
