"""Looks of methods and classes, the same in all figures."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from replication.figures.panels import legend_below
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, PRETRAINED, ordered_methods

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

    from replication.figures.style import Style

CHANGE_AXIS = r"Feature change $\mathrm{Diff}(F)$"
"""Axis of the mean of ||phi(x) - phi_0(x)||."""
CLASS_COLOURS = ("#cc79a7", "#009e73", "#4d4d4d", "#e69f00", "#56b4e9", "#0072b2")
"""Colours of classes; those that methods have in other figures come last."""
METHOD_STYLES = {
    "pretrained": ("0.35", (0, (3, 1, 1, 1)), "v"),
    "lp": ("#009e73", "-.", "P"),
    # Of one hue what starts from the same head; light and dashed what trains adapters.
    "ft": ("#0072b2", "-", "o"),
    "lora": ("#56b4e9", "--", "s"),
    "lp_ft": ("#d55e00", "-", "^"),
    "lp_lora": ("#e69f00", "--", "D"),
}
"""Colour, line and marker of methods."""


def method_style(method: str) -> "Style":
    """Return the look of a method."""
    from matplotlib.colors import to_rgb

    from replication.figures.style import Style

    colour, line, marker = METHOD_STYLES[method]
    return Style(to_rgb(colour), line, marker)


def kernel_label(method: str) -> str:
    """Return the name of P, or of F of a method."""
    return "$P$" if method == PRETRAINED else f"$F$, {METHOD_LABELS[method]}"


def legend_handle(method: str) -> "Line2D":
    """Return the mark of a method in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **method_style(method).look, label=METHOD_LABELS[method])


def add_legend(drawing: "Drawing", methods: Iterable[str], title: str) -> None:
    """Put a legend of methods below the panels; the title says what dots and bars are."""
    handles = [legend_handle(method) for method in ordered_methods(methods)]
    legend_below(drawing, handles, title)
