"""Rows of metrics that a figure draws."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replication.base.errors import InputError
from replication.study.contract import Measured
from transformer_dynamics.lp_ft.settings.labels import RUN_COLUMNS

if TYPE_CHECKING:
    import pandas as pd


def select_rows(rows: "pd.DataFrame", figure: str, **cells: str | float) -> "pd.DataFrame":
    """Return the rows of a metric with these values in columns; an `InputError` if none has."""
    for column, value in cells.items():
        known = rows[column].unique().tolist()
        rows = rows[rows[column] == value]
        if rows.empty:
            raise InputError(
                f"lp_ft > figures > {figure}: no run has {column} {value}; there is"
                f" {', '.join(map(str, known))}"
            )
    return rows


def check_one_run(rows: "pd.DataFrame", figure: str, *keys: str) -> None:
    """Refuse to take runs together that a figure does not tell apart by columns, the keys.

    The `InputError` says in which columns they differ.
    """
    if rows.duplicated(list(keys)).any():
        same = rows.groupby(list(keys))
        others = [name for name in RUN_COLUMNS if name in rows and name not in keys]
        differ = [name for name in others if same[name].nunique().max() > 1]
        raise InputError(
            f"lp_ft > figures > {figure}: its experiment has several runs of a seed that the figure"
            f" does not tell apart, as their {' and '.join(differ)} differ(s); name another"
            " experiment"
        )


def check_set_names(figure: str, named: Mapping[str, Measured[Any]]) -> None:
    """Refuse to draw a metric of one set under the name of another, with an `InputError`."""
    for name, each in named.items():
        if (own := each.job.runs.texts.name) != name:
            raise InputError(
                f"lp_ft > figures > {figure}: the experiment under {name} is of {own}; write it"
                f" under {own}"
            )
