"""Indices of singular values that figures of spectra draw, and claims about spectra count."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FIRST_INDICES, INDEX_STEP = 10, 5
"""Indices of singular values that are drawn by default: the first ten, then each fifth."""


def drawn_mask(
    index: "pd.Series[int]", first: int = FIRST_INDICES, step: int = INDEX_STEP
) -> "pd.Series[bool]":
    """Return True for the indices, from 1 on, that figures of spectra draw.

    These are the `first` ones, and each `step`-th of the others. Figures draw the last one besides.
    """
    return (index <= first) | (index % step == 0)
