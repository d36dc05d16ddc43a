"""Panels as wide as a page, ticks and seeds in them, and legends below all panels."""

from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import SubFigure

    from replication.figures.style import Style


def make_panels(rows: int, columns: int, height: float, **options: Any) -> "tuple[Drawing, Any]":
    """Make a picture as wide as a page with a height in inches, and its panels [rows, columns].

    `options` are those of Matplotlib's `subplots`.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    options = {"layout": "constrained"} | options
    return plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, **options)


def wrap_panels(
    count: int, columns: int, height: float, around: float = 0, **options: Any
) -> "tuple[Drawing, Any]":
    """Make a picture of `count` panels in full rows, [rows, columns], and hide spare ones.

    `height` is that of a row, and `around` that of the picture without its rows, in inches.
    """
    rows = -(-count // columns)
    drawing, panels = make_panels(rows, columns, around + height * rows, **options)
    for spare in panels.flat[count:]:
        spare.set_axis_off()
    return drawing, panels


def set_plain_ticks(axis: "Axis", subs: "Sequence[float]" = (1, 2, 5)) -> None:
    """Set plain numbers at these multiples of powers of 10 of a logarithmic axis."""
    from matplotlib.ticker import LogLocator

    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def draw_seeds(
    axes: "Axes", rows: "pd.DataFrame", across: str, style: "Style", size: float = 5
) -> None:
    """Draw a thin line per seed with small dots, and the mean over seeds at every place.

    The rows have columns seed, value, mean, and `across` with the places. `size` is that of the
    marks of means, in points.
    """
    for _, own in rows.sort_values(across).groupby("seed"):
        axes.plot(
            own[across], own["value"], color=style.colour, linewidth=0.6, alpha=0.5, marker="o",
            markersize=1.8, markeredgewidth=0,
        )  # fmt: skip
    mean = rows.drop_duplicates(across)
    axes.plot(mean[across], mean["mean"], **style.look | {"linestyle": "none"}, markersize=size)


def legend_below(
    drawing: "Drawing | SubFigure",
    handles: "Sequence[Any] | None" = None,
    title: str | None = None,
    **more: Any,
) -> None:
    """Draw a legend below all panels, in one row if `ncols` is left out.

    `handles` are marks with their labels; those of all panels, each label once, if left out. The
    title is a line above them, such as the meaning of dots and bars. `more` is for Matplotlib's
    `legend`.
    """
    if handles is None:
        entries = (zip(*axes.get_legend_handles_labels(), strict=True) for axes in drawing.axes)
        named = {label: handle for handle, label in chain.from_iterable(entries)}
        handles = [*named.values()]
    layout: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": max(len(handles), 1),
        "frameon": False,
    } | more
    drawing.legend(handles=handles, title=title, **layout)
