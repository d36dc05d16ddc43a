"""Evidence of a claim, from computed cases or from seeds.

A value of a seed may be known from one side alone, such as the update at which a network learns, if
it did not within the budget. Then the column `censored` says so, by one of `CENSORED`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import ParamSpec, SupportsFloat

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError, UnmeasurableError

Floats = NDArray[np.float64]
Arguments = ParamSpec("Arguments")
Cases = Iterator[tuple[str, SupportsFloat]]
"""Name of each case, and the value that the bounds of the claim apply to."""
CENSORED = AT_LEAST, AT_MOST, UNKNOWN = "at least", "at most", "unknown"
"""Words of the column `censored`: the true value is the column `value` or more, or at most that; of
a difference between two values of the same kind nothing is known. Other values have no word."""


def evidence(cases: Callable[Arguments, Cases]) -> Callable[Arguments, pd.DataFrame]:
    """Turn a generator of cases into a function of evidence, with a row per case."""

    @wraps(cases, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def measure(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pd.DataFrame:
        found = [(name, float(value)) for name, value in cases(*args, **kwargs)]
        return pd.DataFrame(found, columns=["cell", "value"])

    return measure


def known_ends(rows: pd.DataFrame, value: str = "value") -> tuple[Floats, Floats]:
    """Return the lower and the upper ends that are known of values; infinite where none is.

    Where the column `censored` has a word of `CENSORED`, one end is not known; both ends of any
    other value are the value itself. An `InputError` names another word.
    """
    values = rows[value].to_numpy(np.float64)
    if "censored" not in rows:
        return values, values
    words = words_of(rows, "censored")
    if wrong := {*words} - {"", *CENSORED}:
        raise InputError(
            f"the column censored has '{wrong.pop()}', and may have {', '.join(CENSORED)}"
        )
    return (
        np.where(words.isin([AT_MOST, UNKNOWN]), -np.inf, values),
        np.where(words.isin([AT_LEAST, UNKNOWN]), np.inf, values),
    )


def words_of(rows: pd.DataFrame, column: str) -> "pd.Series[str]":
    """Return a column of words, empty where it has none."""
    found = rows[column] if column in rows else [""] * len(rows)
    return pd.Series(["" if pd.isna(word) else str(word) for word in found], rows.index, "str")


def name_cells(table: pd.DataFrame, *columns: str, **called: str) -> pd.DataFrame:
    """Return a table with a column `cell`, which names each row's: `variance 0.5, update 20`.

    The columns tell comparisons apart, those by keyword under another name (`eta_z="eta_Z"`);
    without columns there is one.
    """
    names = dict(zip(columns, columns, strict=True)) | called
    parts = [[_named(name, value) for value in table[column]] for column, name in names.items()]
    cells = [", ".join(row) for row in zip(*parts, strict=True)] if parts else ""
    return table.assign(cell=cells)


def _named(name: str, value: str | float) -> str:
    return value if isinstance(value, str) else f"{name} {value:g}"


def seed_rows(cells: Iterable[tuple[str, pd.Series]]) -> pd.DataFrame:
    """Return evidence with a number per seed, or NaN where a training diverged.

    Takes name and values [seed] of each comparison, which may have seeds of its own; returns
    columns cell, seed, value. Without a comparison it raises an `UnmeasurableError`.
    """
    tables = [
        pd.DataFrame({"cell": name, "seed": found.index, "value": found.to_numpy(np.float64)})
        for name, found in cells
    ]
    if not tables:
        raise UnmeasurableError("there is no condition to measure")
    return pd.concat(tables, ignore_index=True)


def evidence_by_seed(cells: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Return evidence with a number per seed of conditions that have the same seeds.

    Takes values [seed] by name of the comparison; returns columns cell, seed, value. An
    `UnmeasurableError` if there is no comparison, or a condition lacks a seed or its number.
    """
    if not cells:
        raise UnmeasurableError("there is no condition to measure")
    table = pd.DataFrame(cells).rename_axis("seed")
    if table.isna().to_numpy().any():
        raise UnmeasurableError(
            "conditions that are compared have different seeds, or one of these has no number"
        )
    long = table.reset_index().melt(id_vars="seed", var_name="cell", value_name="value")
    return long[["cell", "seed", "value"]]
