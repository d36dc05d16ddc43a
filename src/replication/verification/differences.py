"""Where found numbers differ from those of the reference, and whether they may."""

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

COLUMNS = ("place", "quantity", "reference", "found", "difference", "tolerance")


def differences(
    place: str, found: pd.DataFrame, reference: pd.DataFrame, tolerances: Tolerances
) -> pd.DataFrame:
    """Every value of a table that is not that of the reference.

    Rows are matched by their texts and whole numbers, which are exact, in their order; other
    numbers are compared within the tolerances.

    Args:
        place: what to call the table.
        found: the table as it is.
        reference: the table as it should be.
        tolerances: of numbers that are not whole.

    Returns:
        One row per difference, with the columns `COLUMNS`; none if the tables agree.
    """
    if list(found.columns) != list(reference.columns):
        return _one(place, "columns", ", ".join(reference.columns), ", ".join(found.columns))
    if len(found) != len(reference):
        return _one(place, "number of rows", str(len(reference)), str(len(found)))
    labels = [
        name
        for name in reference.columns
        if not pd.api.types.is_float_dtype(reference[name])
        or not pd.api.types.is_numeric_dtype(found[name])
    ]
    tables = [
        _compare(place, name, found, reference, labels, tolerances)
        for name in reference.columns
        if not found[name].equals(reference[name])
    ]
    return pd.concat([table for table in tables if len(table)] or [_none()], ignore_index=True)


def _compare(
    place: str,
    name: str,
    found: pd.DataFrame,
    reference: pd.DataFrame,
    labels: list[str],
    tolerances: Tolerances,
) -> pd.DataFrame:
    a, b = reference[name], found[name]
    exact = name in labels
    if exact:
        wrong = ~((a == b).fillna(False) | (a.isna() & b.isna())).astype(bool)
        gap = pd.Series(np.nan, index=a.index)
    else:
        gap = (b - a).abs()
        allowed = np.maximum(
            tolerances.absolute, tolerances.relative * np.maximum(a.abs(), b.abs())
        )
        wrong = ~(gap <= allowed) & ~(a.isna() & b.isna())
    rows = reference.index[wrong]
    known = reference.loc[rows, [] if exact else labels].to_numpy()
    texts = [", ".join(map(str, row)) for row in known]
    return pd.DataFrame(
        {
            "place": place,
            "quantity": [
                f"{name} in row {row + 1}" + (f" ({text})" if text else "")
                for row, text in zip(rows, texts, strict=True)
            ],
            "reference": a[rows].astype(str),
            "found": b[rows].astype(str),
            "difference": gap[rows],
            "tolerance": "exact" if exact else tolerances.name,
        },
        columns=list(COLUMNS),
    )


def _one(place: str, quantity: str, reference: str, found: str) -> pd.DataFrame:
    row = (place, quantity, reference, found, np.nan, "exact")
    return pd.DataFrame([row], columns=list(COLUMNS))


def _none() -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))
