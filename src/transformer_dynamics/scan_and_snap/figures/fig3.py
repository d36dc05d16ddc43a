"""Figure 3: bound of the growth factor of a distinct token against time (Theorem 4).

Its curves, with dots where the phases change, are drawn in Figure 9, too.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Positive, Positives
from replication.figures.panels import make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.figures.elements import Points, Size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from transformer_dynamics.scan_and_snap.theory.growth import Setting
    from transformer_dynamics.scan_and_snap.theory.sequence_classes import Floats

SCANNING_END, SNAPPING_START = "end of scanning", "start of snapping"
SIZES = {SCANNING_END: 2.8, SNAPPING_START: 4.0}
"""Sizes of the dots, in points: those of t_0' are close to each other."""
LABELS = {SCANNING_END: "$t_0'$", SNAPPING_START: "$t_0$"}


class Fig3(Figure):
    """Bound of the growth factor against time, Theorem 4."""

    title: ClassVar[str] = "Scan and Snap, Figure 3: growth factor against time"
    columns: ClassVar[tuple[str, ...]] = ("eta_y", "eta_z", "t", "mark", "growth_limit")
    kind: Literal["fig3"]
    """Kind of the figure."""
    num_classes: int = Field(ge=1, le=10**9)
    """Number K of sequence classes."""
    vocabulary_size: Size
    """Vocabulary size M."""
    eta_z: Positive
    """Learning rate of Z."""
    eta_y: Positives
    """Learning rates of Y, a curve each."""
    c0: Positive
    """Constant C_0 = rho_0^4/K, which the paper does not state."""
    last_time: Positive
    """End of the time axis, in updates."""
    points: Points = 281
    """Drawn points per curve."""


def table(figure: Fig3) -> "pd.DataFrame":
    """Return the bound exp(2 B_n(t)) of the growth factor with the corrected B_n (Theorem 4)."""
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, growth_limit

    tables = []
    for eta_y in figure.eta_y:
        setting = Setting(
            eta_y, figure.eta_z, figure.vocabulary_size, figure.num_classes, figure.c0
        )
        values = curve_table(setting, figure.last_time, figure.points, growth_limit)
        values = values.rename(columns={"value": "growth_limit"})
        tables.append(values.assign(eta_y=eta_y, eta_z=figure.eta_z)[list(figure.columns)])
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a curve per eta_Y, named at its end, with a hollow dot at t_0', a full one at t_0."""
    from replication.figures.style import curve_styles

    drawing, [[axes]] = make_panels(1, 1, 2.7)
    for eta_y, style in curve_styles(table["eta_y"].unique()):
        rows, label = table[table["eta_y"] == eta_y], rf"$\eta_Y={eta_y:g}$"
        draw_curve(axes, rows, "growth_limit", style.colour, label)
        axes.annotate(
            label, rows[["t", "growth_limit"]].iloc[-1], (4, 0), textcoords="offset points",
            va="center", color=style.colour,
        )  # fmt: skip
    axes.set(
        xlim=(0, figure.last_time),
        ylim=(0, None),
        xlabel="Time $t$ (updates)",
        ylabel=r"$\exp(2B_n(t))$, upper bound of $\chi_l(t)$",
        title=rf"$\eta_Z={figure.eta_z:g}$, $K={figure.num_classes}$,"
        rf" $M={figure.vocabulary_size}$, $C_0={figure.c0:g}$",
    )
    axes.spines[["top", "right"]].set_visible(False)
    name_marks(axes)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[-2:], labels[-2:], frameon=False, loc="lower right", ncols=2)
    return drawing


def curve_table(
    setting: "Setting", last_time: float, points: int, value: "Callable[[Setting, Floats], Floats]"
) -> "pd.DataFrame":
    """Return a quantity along time, and at t_0' and t_0 where they come before the last time.

    Columns: `t`, in updates, `mark` (`curve`, or a key of `LABELS`) and `value`, by time.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import phase_times

    times = np.append(np.linspace(0, last_time, points), phase_times(setting))
    columns = {
        "t": times,
        "mark": ["curve"] * points + list(LABELS),
        "value": value(setting, times),
    }
    table = pd.DataFrame(columns)
    return table[table["t"] <= last_time].sort_values("t", ignore_index=True)


def draw_curve(axes: "Axes", rows: "pd.DataFrame", column: str, colour: object, label: str) -> None:
    """Draw a solid line; a hollow dot at t_0', a full one at t_0, and dots from there to the axis.

    Rows are those of one curve, with columns `t`, `mark` and that of the quantity.
    """
    line = rows[rows["mark"] == "curve"]
    axes.plot(line["t"], line[column], color=colour, label=label)
    for mark, face in {SCANNING_END: "white", SNAPPING_START: colour}.items():
        at = rows[rows["mark"] == mark]
        size = SIZES[mark]
        axes.plot(
            at["t"], at[column], "o", color=colour, markerfacecolor=face, zorder=3,
            markersize=size, markeredgewidth=size / 4,
        )  # fmt: skip
        if mark == SNAPPING_START:
            axes.vlines(at["t"], 0, at[column], color=colour, linestyle=":", linewidth=0.8)


def name_marks(axes: "Axes") -> None:
    """Add entries of a legend for the dots."""
    for mark, face in {SCANNING_END: "white", SNAPPING_START: "black"}.items():
        axes.plot(
            [], [], "o", color="black", markerfacecolor=face, label=LABELS[mark],
            markersize=SIZES[mark], markeredgewidth=SIZES[mark] / 4,
        )  # fmt: skip
