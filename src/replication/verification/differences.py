"""Where found numbers differ from those of the reference, and whether they may."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

Tolerance = Literal["exact", "same processor", "across processors", "counts"]


class Tolerances(NamedTuple):
    """How far a number may be from its value in the reference."""

    name: Tolerance
    """The class of comparison."""
    relative: float
    """Largest difference in the larger of both."""
    absolute: float
    """Largest difference."""


SAME_PROCESSOR = Tolerances("same processor", 0, 0)
"""The same processor, packages and seeds give the same bits."""

ACROSS_PROCESSORS = Tolerances("across processors", 1e-3, 5e-4)
"""Other vector instructions add in another order. float32 rounds at 6e-8; between AVX2 and none a
hundred updates, with momentum, at the largest rates made Z differ by up to 1.6e-4, relative to its
entries by 2e-4."""

COUNTS = Tolerances("counts", 0.02, 0.05)
"""A count of tokens above a threshold, or a time found on a grid, jumps where a value close to a
threshold moves."""


class Difference(NamedTuple):
    """A value that is not that of the reference."""

    place: str
    """What the table is called."""
    quantity: str
    """Which value of it."""
    reference: str
    """As it should be."""
    found: str
    """As it is."""
    difference: float = math.nan
    """How far a number is from where it should be."""
    tolerance: Tolerance = "exact"
    """The class of comparison."""


def differences(
    place: str, found: pd.DataFrame, reference: pd.DataFrame, tolerances: Tolerances
) -> Iterator[Difference]:
    """Every value of a table that is not that of the reference.

    Rows are matched by their texts and whole numbers, which are exact, in their order; other
    numbers are compared within the tolerances.

    Args:
        place: what to call the table.
        found: the table as it is.
        reference: the table as it should be.
        tolerances: of numbers that are not whole.
    """
    if list(found.columns) != list(reference.columns):
        yield Difference(place, "columns", ", ".join(reference.columns), ", ".join(found.columns))
        return
    if len(found) != len(reference):
        yield Difference(place, "number of rows", str(len(reference)), str(len(found)))
        return
    labels = [
        name
        for name in reference.columns
        if not pd.api.types.is_float_dtype(reference[name])
        or not pd.api.types.is_numeric_dtype(found[name])
    ]
    for name in reference.columns:
        a, b = reference[name], found[name]
        if b.equals(a):
            continue
        if exact := name in labels:
            wrong = ~((a == b).fillna(False) | (a.isna() & b.isna())).astype(bool)
            gap = pd.Series(np.nan, index=a.index)
        else:
            gap = (b - a).abs()
            largest = np.maximum(a.abs(), b.abs())
            allowed = np.maximum(tolerances.absolute, tolerances.relative * largest)
            wrong = ~(gap <= allowed) & ~(a.isna() & b.isna())
        rows = reference.index[wrong]
        known = reference.loc[rows, [] if exact else labels].to_numpy()
        for row, texts, *numbers in zip(rows, known, a[rows], b[rows], gap[rows], strict=True):
            where = f" ({', '.join(map(str, texts))})" if len(texts) else ""
            was, now, apart = numbers
            kind = "exact" if exact else tolerances.name
            quantity = f"{name} in row {row + 1}{where}"
            yield Difference(place, quantity, str(was), str(now), apart, kind)
