"""Panels and legends in one layout, and the look of a curve."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style


def subplots(height: float, rows: int = 1, columns: int = 1, **more: Any) -> "tuple[Drawing, Any]":
    """Return a picture as wide as a page, and its axes.

    Args:
        height: in inches.
        rows: number of rows of panels.
        columns: number of columns of panels.
        more: what Matplotlib's `subplots` takes, too.
    """
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    return plt.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **more)


def legend_below(drawing: "Drawing", axes: "Axes", **more: Any) -> None:
    """Draw the legend of some axes below all panels, in one row if `ncols` is left out."""
    handles, labels = axes.get_legend_handles_labels()
    layout: dict[str, Any] = {
        "loc": "outside lower center",
        "ncols": len(labels),
        "frameon": False,
    } | more
    drawing.legend(handles, labels, **layout)


def note_below(drawing: "Drawing", text: str) -> None:
    """Say below all panels what dots, bars and bands are."""
    drawing.legend(handles=[], title=text, loc="outside lower center", frameon=False)


def curve_look(style: "Style") -> dict[str, Any]:
    """Return colour, line and marker of a curve as Matplotlib names them."""
    return {"color": style.colour, "linestyle": style.line, "marker": style.marker}
