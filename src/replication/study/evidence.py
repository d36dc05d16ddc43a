"""Evidence of a claim, from computed cases or from seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import ParamSpec, SupportsFloat

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError

Arguments = ParamSpec("Arguments")
Cases = Iterator[tuple[str, SupportsFloat]]
"""Name of each case, and the value that the bounds of the claim apply to."""


def evidence(cases: Callable[Arguments, Cases]) -> Callable[Arguments, pd.DataFrame]:
    """Turn a generator of cases into a function of evidence, with a row per case."""

    @wraps(cases, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def measure(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pd.DataFrame:
        found = [(name, float(value)) for name, value in cases(*args, **kwargs)]
        return pd.DataFrame(found, columns=["cell", "value"])

    return measure


def words_of(rows: pd.DataFrame, column: str) -> "pd.Series[str]":
    """Return a column of words, empty where it has none."""
    return rows.reindex(columns=[column])[column].astype("str").fillna("")


def name_cells(table: pd.DataFrame, *columns: str, **names: str) -> pd.DataFrame:
    """Return a table with a column `cell`, which names each row's: `variance 0.5, update 20`.

    The columns tell comparisons apart, those by keyword under another name (`eta_z="eta_Z"`);
    without columns there is one.
    """

    def named(name: str, value: str | float) -> str:
        return value if isinstance(value, str) else f"{name} {value:g}"

    names = dict(zip(columns, columns, strict=True)) | names
    parts = [[named(name, value) for value in table[column]] for column, name in names.items()]
    cells = [", ".join(row) for row in zip(*parts, strict=True)] if parts else ""
    return table.assign(cell=cells)


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
    """Return evidence as `seed_rows`, of conditions that have the same seeds.

    An `UnmeasurableError` if a condition lacks a seed or its number.
    """
    table = pd.DataFrame(cells)
    if table.isna().to_numpy().any():
        raise UnmeasurableError(
            "conditions that are compared have different seeds, or one of these has no number"
        )
    return seed_rows((str(name), values) for name, values in table.items())
