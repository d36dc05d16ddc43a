"""Contrasts: one number per seed for a claim about an axis.

Each takes a long table as a metric has it: a column `seed`, one of an axis (updates, methods) and
one of values. The columns that are named last divide it into comparisons, each judged apart.
With v(s, a) the value of seed s at a, and a_1 < ... < a_n along the axis, a contrast is c(s).

Each returns columns cell, seed, value, with a row per comparison and seed. A value that is not
finite, as after a training that diverged, makes that of its seed not finite. An
`UnmeasurableError` if there is no row, the axis has one value, or a seed lacks a value that others
have; a `ValueError` of pandas if a seed has several values in one place.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from replication.base.errors import UnmeasurableError
from replication.study.evidence import name_cells, seed_rows


def last_over_first(
    table: pd.DataFrame, axis: str, value: str, *cells: str, descending: bool = False
) -> pd.DataFrame:
    """Return c(s) = v(s, a_n) / v(s, a_1), the last value of every seed over its first.

    `descending` if the axis runs from its largest value to its smallest. An `UnmeasurableError`,
    too, if a first value is 0.
    """

    def ratio(wide: pd.DataFrame) -> pd.Series:
        first, last = (wide.iloc[:, place] for place in ((-1, 0) if descending else (0, -1)))
        if (first == 0).any():
            raise UnmeasurableError(f"{value} begins with 0 along {axis}; no ratio is defined")
        return last / first

    return _contrast("last over first", table, axis, value, cells, ratio)


def slope(table: pd.DataFrame, axis: str, value: str, *cells: str) -> pd.DataFrame:
    """Return c(s) = sum_i (a_i - m) v(s, a_i) / sum_i (a_i - m)^2, with m the mean of the a_i.

    That is the slope of the line of least squares through the values of a seed, in units of the
    value per unit of the axis, which has numbers.
    """
    return _contrast("slope", table, axis, value, cells, lambda wide: _slopes(wide, wide.columns))


def difference(
    table: pd.DataFrame, axis: str, value: str, *cells: str, of: str | float, minus: str | float
) -> pd.DataFrame:
    """Return c(s) = v(s, of) - v(s, minus), the difference between two places of the axis.

    The axis may have words, such as methods.
    """
    rows = table[table[axis].isin([of, minus])]
    name = f"{of} minus {minus}"
    return _contrast(name, rows, axis, value, cells, lambda wide: wide[of] - wide[minus])


def change_along(table: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return the change of a value from the first to the last level, along each seed's own line.

    The line is that of least squares against ln(level), so that every level counts and equal ratios
    of levels are equal steps. The change between two levels is their difference. Seeds are
    independent of each other, and levels of one seed are not: a test takes one number per seed. The
    table has the columns cell, seed, value and one of positive levels.
    """

    def change(wide: pd.DataFrame) -> pd.Series:
        places = np.log(wide.columns.to_numpy(np.float64))
        return _slopes(wide, places) * float(places[-1] - places[0])

    return _contrast("", table, level, "value", ("cell",), change)


def _contrast(
    name: str, table: pd.DataFrame, axis: str, value: str, cells: tuple[str, ...],
    contrast: Callable[[pd.DataFrame], pd.Series],
) -> pd.DataFrame:  # fmt: skip
    """Return the contrast of every comparison; the only one of a table has the contrast's name."""
    seeds = table["seed"].nunique()
    found = []
    for key, rows in name_cells(table, *cells).groupby("cell", sort=False):
        cell = str(key) or name
        wide = rows.pivot(index="seed", columns=axis, values=value).astype(np.float64)
        if wide.shape[1] < 2 or wide.size > len(rows) or len(wide) < seeds:
            raise UnmeasurableError(
                f"{cell}: a seed lacks {value} at some {axis} that others have, or there is"
                " one alone"
            )
        found.append((cell, contrast(wide)))
    return seed_rows(found)


def _slopes(wide: pd.DataFrame, places: ArrayLike) -> pd.Series:
    """Return the slope of every seed, NaN for a seed with a value that is not finite."""
    slopes = pd.Series(np.nan, wide.index)
    finite = wide[np.isfinite(wide).all(axis=1)]
    slopes[finite.index] = np.polyfit(np.asarray(places, np.float64), finite.to_numpy().T, 1)[0]
    return slopes
