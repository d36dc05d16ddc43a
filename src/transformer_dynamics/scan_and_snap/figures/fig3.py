"""Figure 3: growth factor of a distinct token against time (Theorem 4)."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.study import Figure
from transformer_dynamics.scan_and_snap.figures.base import Points, Size
from transformer_dynamics.scan_and_snap.settings import Positive, PositiveList

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig3(Figure):
    """Growth factor against time, Theorem 4."""

    title: ClassVar[str] = "Scan and Snap, Figure 3: growth factor against time"
    columns: ClassVar[tuple[str, ...]] = ("eta_y", "eta_z", "t", "growth_factor")
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
    """Growth factor exp(2 B_n(t)) with the corrected B_n (Theorem 4)."""
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, growth_limit

    times, tables = np.linspace(0, figure.last_time, figure.points), []
    for eta_y in figure.eta_y:
        factor = growth_limit(
            Setting(eta_y, figure.eta_z, figure.vocabulary_size, figure.num_classes, figure.c0),
            times,
        )
        columns = {"eta_y": eta_y, "eta_z": figure.eta_z, "t": times, "growth_factor": factor}
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One curve per eta_Y; a dotted vertical line of its colour marks t_0."""
    import matplotlib.pyplot as plt

    from replication.drawing import curve_styles
    from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start

    drawing, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    for eta_y, (colour, line, _) in curve_styles(table["eta_y"].unique()):
        rows, label = table[table["eta_y"] == eta_y], rf"$\eta_Y={eta_y:g}$"
        axes.plot(rows["t"], rows["growth_factor"], color=colour, linestyle=line, label=label)
        start = snapping_start(eta_y, figure.vocabulary_size, figure.num_classes)
        axes.axvline(start, color=colour, linestyle=":", linewidth=1)
    axes.set(
        xlabel="Time $t$ (updates)",
        ylabel=r"Growth factor $\chi_l(t)$",
        title=rf"$\eta_Z={figure.eta_z:g}$, $K={figure.num_classes}$,"
        rf" $M={figure.vocabulary_size}$, $C_0={figure.c0:g}$",
    )
    axes.legend(framealpha=1)
    return drawing
