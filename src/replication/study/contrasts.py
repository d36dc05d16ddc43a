"""Contrasts: one number per seed for a claim about an axis.

Each takes a long table as a metric has it: a column `seed`, one of an axis (updates, methods) and
one of values. The columns that are named last divide it into comparisons, each judged apart.
With v(s, a) the value of seed s at a, and a_1 < ... < a_n along the axis, a contrast is c(s).

A value that is not finite, as after a training that diverged, makes that of its seed not finite.
Values of which one end alone is known, by a column `censored`, have differences and no other
contrast.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError, UnmeasurableError
from replication.study.evidence import (
    AT_LEAST,
    AT_MOST,
    UNKNOWN,
    known_ends,
    name_cells,
    seed_rows,
    words_of,
)

Floats = NDArray[np.float64]


def last_over_first(
    table: pd.DataFrame, axis: str, value: str, *cells: str, descending: bool = False
) -> pd.DataFrame:
    """Return c(s) = v(s, a_n) / v(s, a_1), the last value of every seed over its first.

    The table has the columns seed, axis, value and those of the comparisons (`cells`, if there are
    several); `descending` if the axis runs from its largest value to its smallest. Columns cell,
    seed, value; a row per comparison and seed. An `UnmeasurableError` if there is no row, the axis
    has one value, a seed lacks a value that others have, or a first value is 0; an `InputError` if
    a seed has several values in one place.
    """

    def ratio(wide: pd.DataFrame) -> pd.Series:
        first, last = (wide.iloc[:, place] for place in ((-1, 0) if descending else (0, -1)))
        if (first == 0).any():
            raise UnmeasurableError(f"{value} begins with 0 along {axis}; no ratio is defined")
        return last / first

    return _contrast("last over first", _lines(table, axis, value, cells), ratio)


def mean_over_last(
    table: pd.DataFrame, axis: str, value: str, *cells: str, count: int
) -> pd.DataFrame:
    """Return c(s) = (v(s, a_(n-k+1)) + ... + v(s, a_n)) / k, the mean of the last k = count values.

    Arguments and errors are those of `last_over_first`; an axis of fewer than k values is one, too.
    """
    lines = _lines(table, axis, value, cells, max(count, 1))
    return _contrast(
        f"mean over the last {count}",
        lines,
        lambda wide: pd.Series(wide.to_numpy()[:, -count:].mean(axis=1), wide.index),
    )


def slope(table: pd.DataFrame, axis: str, value: str, *cells: str) -> pd.DataFrame:
    """Return c(s) = sum_i (a_i - m) v(s, a_i) / sum_i (a_i - m)^2, with m the mean of the a_i.

    That is the slope of the line of least squares through the values of a seed, in units of the
    value per unit of the axis, which has numbers. Arguments and errors are those of
    `last_over_first`.
    """
    return _contrast(
        "slope",
        _lines(table, axis, value, cells),
        lambda wide: _slopes(wide, wide.columns.to_numpy(np.float64)),
    )


def difference(
    table: pd.DataFrame, axis: str, value: str, *cells: str, of: str | float, minus: str | float
) -> pd.DataFrame:
    """Return c(s) = v(s, of) - v(s, minus), the difference between two places of the axis.

    Arguments and errors are those of `last_over_first`; the axis may have words, such as methods.
    If the table has a column `censored`, so has the result.
    """
    rows, name = table[table[axis].isin([of, minus])], f"{of} minus {minus}"
    rest = rows.drop(columns="censored", errors="ignore")
    lines = _lines(rest, axis, value, cells)
    found = _contrast(name, lines, lambda wide: wide[of] - wide[minus])
    if "censored" not in rows:
        return found
    lows, highs = (
        [wide for _, wide in _lines(rest.assign(**{value: ends}), axis, value, cells)]
        for ends in known_ends(rows, value)
    )
    least = (low[of] - high[minus] for low, high in zip(lows, highs, strict=True))
    most = (high[of] - low[minus] for low, high in zip(lows, highs, strict=True))
    is_open = zip(*(np.isinf(pd.concat(ends)) for ends in (least, most)), strict=True)
    return found.assign(censored=[_WORDS[ends] for ends in is_open])


_WORDS = {
    (False, False): "", (False, True): AT_LEAST, (True, False): AT_MOST, (True, True): UNKNOWN,
}  # fmt: skip
"""Word of a value by whether its lower end is unknown, and whether its upper end is."""


def _lines(
    table: pd.DataFrame, axis: str, value: str, cells: tuple[str, ...], fewest: int = 2
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield name and values [seed, axis] of each comparison."""
    if table.empty:
        raise UnmeasurableError(f"nothing was found to measure along {axis}")
    if words_of(table, "censored").any():
        raise UnmeasurableError(
            f"a value of {value} is known from one side alone (column censored), of which only a"
            " difference can be taken"
        )
    seeds = table["seed"].nunique()
    for key, rows in name_cells(table, *cells).groupby("cell", sort=False):
        cell = str(key)
        where = f"{cell}: " if cell else ""
        if rows.duplicated(["seed", axis]).any():
            raise InputError(
                f"{where}a seed has several values of {value} at one {axis}; name the columns that"
                " tell them apart, or compute their mean"
            )
        wide = rows.pivot(index="seed", columns=axis, values=value)
        if wide.shape[1] < fewest:
            raise UnmeasurableError(
                f"{where}{value} has {wide.shape[1]} of the {fewest} or more values along {axis}"
                " that are needed"
            )
        if wide.size > len(rows) or len(wide) < seeds:
            raise UnmeasurableError(f"{where}a seed lacks {value} at some {axis} that others have")
        yield cell, wide.astype(np.float64)


def _contrast(
    name: str,
    lines: Iterable[tuple[str, pd.DataFrame]],
    contrast: Callable[[pd.DataFrame], pd.Series],
) -> pd.DataFrame:
    """Return the contrast of every comparison; the only one of a table has the contrast's name."""
    return seed_rows((cell or name, contrast(wide)) for cell, wide in lines)


def _slopes(wide: pd.DataFrame, places: Floats) -> pd.Series:
    """Return the slope of every seed, NaN for a seed with a value that is not finite."""
    slopes = pd.Series(np.nan, wide.index)
    finite = wide[np.isfinite(wide).all(axis=1)]
    slopes[finite.index] = np.polyfit(places, finite.to_numpy().T, 1)[0]
    return slopes


def change_along(table: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return the change of a value from the first to the last level, along each seed's own line.

    The line is that of least squares against ln(level), so that every level counts and equal ratios
    of levels are equal steps. The change between two levels is their difference. Seeds are
    independent of each other, and levels of one seed are not: a test takes one number per seed. The
    table has the columns cell, seed, value and one of positive levels; returned are cell, seed,
    value. An `UnmeasurableError` if there is no comparison, one has one level, or a seed lacks a
    level.
    """
    found = []
    for cell, wide in _lines(table, level, "value", ("cell",)):
        places = np.log(wide.columns.to_numpy(np.float64))
        found.append((cell, _slopes(wide, places) * (places[-1] - places[0])))
    return seed_rows(found)
