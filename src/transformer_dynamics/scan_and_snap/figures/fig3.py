"""Figure 3: bound of the growth factor of a distinct token against time (Theorem 4)."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.figures.base import Points, Size
from transformer_dynamics.scan_and_snap.figures.phases import curve, draw_curve, name_marks
from transformer_dynamics.scan_and_snap.settings import Positive, PositiveList

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig3(Figure):
    """Bound of the growth factor against time, Theorem 4."""

    title: ClassVar[str] = "Scan and Snap, Figure 3: growth factor against time"
    columns: ClassVar[tuple[str, ...]] = ("eta_y", "eta_z", "t", "mark", "growth_limit")
    drawing: Literal["fig3"]
    """Which drawing."""
    num_classes: int = Field(ge=1, le=10**9)
    """K."""
    vocabulary_size: Size
    """M."""
    eta_z: Positive
    """Learning rate of Z."""
    eta_y: PositiveList
    """Learning rates of Y, a curve each."""
    c0: Positive
    """C_0 = rho_0^4/K, which the paper does not state."""
    last_time: Positive
    """End of the time axis, in updates."""
    points: Points = 281
    """Drawn points per curve."""


def table(figure: Fig3) -> "pd.DataFrame":
    """Bound exp(2 B_n(t)) of the growth factor with the corrected B_n (Theorem 4)."""
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, growth_limit

    tables = []
    for eta_y in figure.eta_y:
        setting = Setting(
            eta_y, figure.eta_z, figure.vocabulary_size, figure.num_classes, figure.c0
        )
        values = curve(setting, figure.last_time, figure.points, growth_limit)
        values = values.rename(columns={"value": "growth_limit"})
        tables.append(values.assign(eta_y=eta_y, eta_z=figure.eta_z)[list(figure.columns)])
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One curve per eta_Y, named at its end, with a hollow dot at t_0' and a full one at t_0."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, curve_styles

    drawing, axes = plt.subplots(figsize=(WIDTH, 2.7), layout="constrained")
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
