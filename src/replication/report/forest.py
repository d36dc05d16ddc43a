"""Geometry of a forest plot: its axis and its rows, one per comparison."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from replication.figures.typeset import number, power_of_ten, typeset
from replication.judge.verdicts import Comparison
from replication.judge.wording import estimate_in_words

WIDTH = 784
_MARGIN = 10
_ROW = 24
_DENSE_ROW = 19
_DENSE_FROM = 20
_NARROW = frozenset(" .,:;'|()[]ijlftr⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NARROW_LETTER = 4.7
_LETTER = 7.7
_SHORTEST_AXIS = 180
_BEYOND_NUMBERS = 72
"""Width from the numbers to the right edge, the decision included."""
_LARGEST = 1e300
"""Largest end of an axis, so that the length of the axis is a number."""
_DECADES_FROM = 1000


class Plot(NamedTuple):
    """A forest plot in pixels."""

    left: float
    """Left end of the axis."""
    right: float
    """Right end of the axis."""
    top: float
    """Upper edge of the first row."""
    bottom: float
    """Lower edge of the last row."""
    row_height: float
    """Height of one row."""
    logarithmic: bool
    """True if the axis is logarithmic."""
    axis_above: bool
    """True if the axis is drawn above the rows, too, as the rows are many."""
    zero: float | None
    """Place of 0, if that is within the axis."""
    ticks: list[tuple[float, str]]
    """Place and number of each mark of the axis."""
    bands: list[tuple[float | None, float | None, float, float]]
    """Least and largest claimed value of successive rows with the same, their upper edge and their
    height."""
    rows: list[tuple[Comparison, str, str]]
    """Comparisons with the name, shortened if long, and the estimate with interval."""
    place: Callable[[float], float]
    """Function from a value to its place; a value beyond the axis is at the axis' end."""
    width: float = WIDTH
    """Width of the plot."""


def forest_plot(comparisons: Sequence[Comparison]) -> Plot:
    """Return a plot with one row per comparison on a common axis.

    The axis is logarithmic where no number is negative and the positive ones span three decades.
    """
    dense = len(comparisons) > _DENSE_FROM
    height, top = (_DENSE_ROW, 30) if dense else (_ROW, 8)
    texts = [estimate_in_words(item, number) for item in comparisons]
    right = round(WIDTH - max(map(_breadth, texts)) - _BEYOND_NUMBERS, 1)
    longest = right - _SHORTEST_AXIS - _MARGIN - 14
    labels = [_shorten(item.cell, longest) for item in comparisons]
    rows = list(zip(comparisons, labels, texts, strict=True))
    left = round(_MARGIN + max(map(_breadth, labels)) + 14, 1)
    values = [value for item in comparisons for value in _values(item)]
    positive = [value for value in values if value > 0]
    logarithmic = bool(
        min(values) >= 0 and positive and max(positive) > _DECADES_FROM * min(positive)
    )
    first, last, ticks = _decades(positive) if logarithmic else _steps(min(values), max(values))
    name = power_of_ten if logarithmic else number

    def place(value: float) -> float:
        if logarithmic:
            value = math.log10(value) if value > 0 else first
        share = min(max((value - first) / (last - first), 0), 1)
        return round(left + (right - left) * share, 1)

    return Plot(
        left=left,
        right=right,
        top=top,
        bottom=top + height * len(rows),
        row_height=height,
        logarithmic=logarithmic,
        axis_above=dense,
        zero=None if logarithmic or not first <= 0 <= last else place(0),
        ticks=[(place(value), name(value)) for value in ticks],
        bands=[*_bands(comparisons, top, height)],
        rows=rows,
        place=place,
    )


def _bands(
    comparisons: Sequence[Comparison], top: float, height: float
) -> Iterator[tuple[float | None, float | None, float, float]]:
    for (lower, upper), same in groupby(comparisons, lambda item: (item.lower, item.upper)):
        reach = height * len([*same])
        yield lower, upper, top, reach
        top += reach


def _values(item: Comparison) -> list[float]:
    found = (item.estimate, item.low, item.high, item.lower, item.upper)
    return [value for value in found if value is not None]


def _shorten(cell: str, longest: float) -> str:
    """Return a name without words in its middle, as names of comparisons differ at their ends."""
    words = cell.split()
    tries = (
        " ".join([*words[: kept - kept // 2], "…", *words[len(words) - kept // 2 :]])
        for kept in range(len(words) - 1, 1, -1)
    )
    fitting = (text for text in [cell, *tries] if _breadth(text) <= longest)
    return next(fitting, f"{cell[: int(longest / _LETTER) - 1]}…")


def _breadth(text: str) -> float:
    """Return the approximate width of a text once it is typeset, in a wide typeface."""
    letters = typeset(text).striptags()
    return sum(_NARROW_LETTER if letter in _NARROW else _LETTER for letter in letters)


def _steps(least: float, largest: float) -> tuple[float, float, list[float]]:
    """Return the ends of a linear axis and its round marks."""
    least, largest = max(least, -_LARGEST), min(largest, _LARGEST)
    span = largest - least or abs(largest) or 1.0
    least, largest = least - 0.06 * span, largest + 0.06 * span
    rough = (largest - least) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    marks = range(math.ceil(least / step), math.floor(largest / step) + 1)
    return least, largest, [float(f"{mark * step:.12g}") for mark in marks]


def _decades(positive: Sequence[float]) -> tuple[float, float, list[float]]:
    """Return the ends of a logarithmic axis, as powers of ten, and its marks."""
    least = math.floor(math.log10(min(positive)))
    largest = math.ceil(math.log10(max(positive)))
    every = -(-(largest - least) // 6)
    return least - 0.2, largest + 0.2, [10.0**power for power in range(least, largest + 1, every)]
