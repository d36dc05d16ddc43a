"""Tables as pictures: numbers found here above printed ones, shaded by the order of methods.

Numbers that lie within the spread of their neighbours have one shade.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from replication.figures.panels import make_panels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

PRINTED = "As printed (RoBERTa-base)"
"""Heading of numbers of the paper."""
SPREAD = "Numbers that differ from the next by no more than a standard deviation have one shade."
"""Explanation of shades."""
NOTHING = "\N{EN DASH}"
"""Text in place of a missing number."""
_BETWEEN = "\N{THIN SPACE}\N{PLUS-MINUS SIGN}\N{THIN SPACE}"
_LINE = 0.158
"""Height of a line, in inches."""
_SIZE = 6.8
"""Size of type, in points."""
_LETTER = 0.62 * _SIZE / 72
"""Width of a letter, in inches, on average."""
_DEEPEST = 0.42
"""Share of the map of colours for the highest number."""
_SHADES = 5
"""Number of shades in the key."""


class ColumnHead(NamedTuple):
    """Heading of a column."""

    group: str
    """Heading over the column and its neighbours; may be empty."""
    name: str
    """Heading of the column alone."""


class Cell(NamedTuple):
    """One number."""

    text: str = NOTHING
    order: float = math.nan
    """Place from 0 for the lowest to 1 for the highest of those it is compared with; or NaN."""


class Row(NamedTuple):
    """One line, with a cell per column."""

    labels: tuple[str, ...]
    """Labels on the left of the row."""
    cells: list[Cell]


class Part(NamedTuple):
    """Rows under one heading."""

    title: str
    rows: list[Row]
    """Rows, all of them with equally many labels and cells."""


def format_number(mean: float, deviation: float = math.nan, digits: int | None = None) -> str:
    """Return a number such as 84.6 with its standard deviation.

    A mean that is NaN gives nothing; a deviation that is NaN is not known. `digits` are those after
    the point, of both; if left out, the mean has three significant digits, and a very small or
    large one is a power of ten, without deviation.
    """
    from replication.figures.typeset import number

    if math.isnan(mean):
        return NOTHING
    if digits is None:
        if mean and not 1e-3 <= abs(mean) < 1e5:
            return number(mean)
        mean = round_number(mean)
        digits = max(2 - math.floor(math.log10(abs(mean))), 0) if mean else 2
    known = [each for each in (mean, deviation) if not math.isnan(each)]
    return _BETWEEN.join(f"{each:,.{digits}f}" for each in known)


def round_number(mean: float, digits: int | None = None) -> float:
    """Round a number as `format_number` does, so that equal texts have the same shade."""
    return float(f"{mean:.2e}") if digits is None else round(mean, digits)


def rank_values(values: "pd.Series", spreads: "pd.Series") -> "pd.Series":
    """Return ranks of values: 0 for the lowest to 1 for the highest; NaN where all are alike.

    Neighbours that differ by no more than the larger of their spreads, NaN for none, have one rank.
    """
    ordered, spread = values.dropna().sort_values(), spreads.fillna(0.0)
    # The larger spread of a value and of the one below it.
    beside = spread[ordered.index]
    step = ordered.diff() > beside.combine(beside.shift(fill_value=0.0), max)
    groups = step.cumsum()
    places = groups.rank(method="average") - 1
    last = groups.max() if len(groups) else 0
    shares = (places - places.min()) / (places.max() - places.min()) if last else places * math.nan
    return shares.reindex(values.index)


def shade_orders(
    rows: "pd.DataFrame",
    digits: Sequence[int | None],
    keys: list[str],
    errors: Iterable[str] = (),
) -> list[float]:
    """Return the order of every mean, as it is written, among those of rows with equal `keys`.

    Rows have the columns mean, deviation if it is known, and the keys. `digits` are those after the
    point, of each row. Of the quantities `errors` the lowest is the darkest.
    """
    spread = rows["deviation"] if "deviation" in rows else rows["mean"] * math.nan
    shown = rows.assign(shown=[*map(round_number, rows["mean"], digits)], spread=spread)
    orders = shown["shown"] * math.nan
    for _, own in shown.groupby(keys):
        orders[own.index] = rank_values(own["shown"], own["spread"])
    is_error = rows["quantity"].isin([*errors]) if "quantity" in rows else orders.isna() & False
    return orders.where(~is_error, 1 - orders).tolist()


class Entry(NamedTuple):
    """One number and its place."""

    labels: tuple[str, ...]
    """Labels of the row of the number."""
    column: Hashable
    """Key of the column of the number."""
    cell: Cell


def make_part(title: str, entries: Iterable[Entry], columns: Sequence[Hashable]) -> Part:
    """Make rows in the order in which their labels first occur, with columns from left to right."""
    rows: dict[tuple[str, ...], dict[Hashable, Cell]] = {}
    for entry in entries:
        rows.setdefault(entry.labels, {})[entry.column] = entry.cell
    return Part(
        title,
        [
            Row(labels, [cells.get(column, Cell()) for column in columns])
            for labels, cells in rows.items()
        ],
    )


def draw_table(
    heads: Sequence[ColumnHead],
    parts: Sequence[Part],
    compared: str,
    ends: tuple[str, str] = ("lowest", "highest"),
) -> "Drawing":
    """Draw a table between rules, its parts from top to bottom.

    `compared` names the numbers that a shade compares; `ends` name the lightest and the darkest.
    """
    first = 1 + any(head.group for head in heads)
    last = first + sum(1 + len(each.rows) for each in parts)
    drawing, [[axes]] = make_panels(1, 1, (last + 2) * _LINE + 0.1)
    axes.set(xlim=(0, 1), ylim=(last + 2, 0))
    axes.axis("off")
    labels, columns = _place_columns(heads, parts)
    _rule(axes, 0, (0, 1), 1.0)
    _draw_heads(axes, heads, columns)
    line = first
    for each in parts:
        _rule(axes, line, (0, 1), 0.5)
        _write(axes, 0, line, each.title, "left", bold=True)
        _draw_rows(axes, each.rows, line + 1, labels, columns)
        line += 1 + len(each.rows)
    _rule(axes, last, (0, 1), 1.0)
    _draw_key(axes, last, compared, ends)
    return drawing


Side = Literal["left", "center"]
"""Side of a text that stands at its place."""
Ends = tuple[float, float]
"""Left and right end, as shares of the width."""


def _place_columns(
    heads: Sequence[ColumnHead], parts: Sequence[Part]
) -> tuple[list[float], list[Ends]]:
    """Return starts of labels and ends of columns, as wide as their texts and evenly more."""
    from replication.figures.style import WIDTH

    rows = [row for each in parts for row in each.rows]
    labels = [_text_width(texts) for texts in zip(*(row.labels for row in rows), strict=True)]
    columns = [
        _text_width([head.name, *(row.cells[place].text for row in rows)])
        for place, head in enumerate(heads)
    ]
    spare = (WIDTH - sum(labels) - sum(columns)) / len(columns)
    starts = [*accumulate(labels, initial=0.0)]
    ends = accumulate((width + spare for width in columns), initial=starts[-1])
    return (
        [start / WIDTH for start in starts[:-1]],
        [(left / WIDTH, right / WIDTH) for left, right in pairwise(ends)],
    )


def _text_width(texts: Sequence[str]) -> float:
    """Return the width of the longest text, in inches."""
    return _LETTER * (1 + max(len(text.replace("\N{THIN SPACE}", "")) for text in texts))


def _draw_heads(axes: "Axes", heads: Sequence[ColumnHead], columns: Sequence[Ends]) -> None:
    groups: dict[str, list[Ends]] = {}
    for head, ends in zip(heads, columns, strict=True):
        if head.group:
            groups.setdefault(head.group, []).append(ends)
    for group, own in groups.items():
        left, right = own[0][0], own[-1][1]
        _write(axes, (left + right) / 2, 0, group, "center")
        _rule(axes, 1, (left + 0.008, right - 0.008), 0.4)
    for head, (left, right) in zip(heads, columns, strict=True):
        _write(axes, (left + right) / 2, int(bool(groups)), head.name, "center")


def _draw_rows(
    axes: "Axes",
    rows: Sequence[Row],
    line: int,
    labels: Sequence[float],
    columns: Sequence[Ends],
) -> None:
    before: tuple[str, ...] = ()
    for row in rows:
        begins = row.labels[0] not in before[:1]
        if begins and before and len(labels) > 1:
            _rule(axes, line, (0, 1), 0.25)
        # A label stands once where rows share it.
        for start, label in list(zip(labels, row.labels, strict=True))[0 if begins else 1 :]:
            _write(axes, start, line, label, "left")
        for (left, right), cell in zip(columns, row.cells, strict=True):
            if not math.isnan(cell.order):
                _shade(axes, line, (left, right), cell.order)
            _write(axes, (left + right) / 2, line, cell.text, "center")
        before = row.labels
        line += 1


def _draw_key(axes: "Axes", line: int, compared: str, ends: tuple[str, str]) -> None:
    """Draw the key of shades."""
    _write(axes, 0, line, ends[0], "left")
    left, width = 0.075, 0.03
    for step in range(_SHADES):
        _shade(axes, line, (left, left + width), step / (_SHADES - 1), height=0.6)
        left += width
    _write(axes, left + 0.01, line, f"{ends[1]} {compared}", "left")
    _write(axes, 0, line + 1, SPREAD, "left")


def _write(axes: "Axes", x: float, line: int, text: str, side: Side, bold: bool = False) -> None:
    axes.text(
        x, line + 0.52, text, ha=side, va="center", fontsize=_SIZE,
        fontweight="bold" if bold else "normal",
    )  # fmt: skip


def _shade(axes: "Axes", line: int, ends: Ends, order: float, height: float = 1.0) -> None:
    import matplotlib as mpl
    from matplotlib.patches import Rectangle

    colour = mpl.colormaps["Blues"](_DEEPEST * order)
    edge = "none" if height == 1 else "0.7"
    corner = (ends[0], line + (1 - height) / 2)
    axes.add_patch(
        Rectangle(
            corner, ends[1] - ends[0], height, facecolor=colour, edgecolor=edge, linewidth=0.3,
            zorder=0,
        )
    )  # fmt: skip


def _rule(axes: "Axes", line: int, ends: Ends, width: float) -> None:
    from matplotlib.patches import Rectangle

    # No line of a plot: it is at no number.
    axes.add_patch(
        Rectangle(
            (ends[0], line), ends[1] - ends[0], 0, facecolor="none", edgecolor="0.15",
            linewidth=width, clip_on=False, zorder=3,
        )
    )  # fmt: skip
