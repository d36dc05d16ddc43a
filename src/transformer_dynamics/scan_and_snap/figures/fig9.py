"""Figure 9: B_n(t) at a fixed ratio of the learning rates."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.strict import Strict
from replication.study import Figure
from transformer_dynamics.scan_and_snap.figures.base import Points, Size
from transformer_dynamics.scan_and_snap.settings import Positive, PositiveList

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig9Panel(Strict):
    """One panel of Figure 9."""

    vocabulary_size: Size
    """M."""
    nu: Positive
    """eta_Y / eta_Z, the same for all curves."""
    eta_z: PositiveList
    """Learning rates of Z, a curve each."""
    last_time: Positive
    """End of the time axis, in updates."""


class Fig9(Figure):
    """B_n(t) at fixed nu."""

    title: ClassVar[str] = "Scan and Snap, Figure 9: B_n at a fixed ratio of rates"
    columns: ClassVar[tuple[str, ...]] = ("panel", "eta_y", "eta_z", "t", "growth_bound")
    drawing: Literal["fig9"]
    """Which drawing."""
    num_classes: int = Field(ge=1, le=10**9)
    """K, which the paper does not state."""
    c0: Positive
    """C_0, which the paper does not state."""
    panels: list[Fig9Panel] = Field(min_length=1)
    """Panels from left to right."""
    points: Points = 251
    """Drawn points per curve."""


def table(figure: Fig9) -> "pd.DataFrame":
    """B_n(t) as printed (129), which for C_0 = 1 is also the corrected form."""
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent

    tables = []
    for index, panel in enumerate(figure.panels, start=1):
        times = np.linspace(0, panel.last_time, figure.points)
        for eta_z in panel.eta_z:
            eta_y = panel.nu * eta_z
            setting = Setting(eta_y, eta_z, panel.vocabulary_size, figure.num_classes, figure.c0)
            columns = {
                "panel": index,
                "eta_y": eta_y,
                "eta_z": eta_z,
                "t": times,
                "growth_bound": exponent(setting, times, printed=True),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig9, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One panel per ratio, one curve per eta_Z; dotted lines are t_0, dots B_n(t_0)."""
    import matplotlib.pyplot as plt

    from replication.drawing import curve_styles
    from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent, phase_times

    drawing, row = plt.subplots(
        1, len(figure.panels), figsize=(9, 3.1), squeeze=False, layout="constrained"
    )
    for index, (axes, panel) in enumerate(zip(row[0], figure.panels, strict=True), start=1):
        for eta_z, (colour, line, _) in curve_styles(panel.eta_z):
            rows = table[(table["panel"] == index) & (table["eta_z"] == eta_z)]
            eta_y = panel.nu * eta_z
            label = rf"$\eta_Z={eta_z:g}$, $\eta_Y={eta_y:g}$"
            axes.plot(rows["t"], rows["growth_bound"], color=colour, linestyle=line, label=label)
            setting = Setting(eta_y, eta_z, panel.vocabulary_size, figure.num_classes, figure.c0)
            start = phase_times(setting)[1]
            height = exponent(setting, start, printed=True)
            axes.axvline(start, color=colour, linestyle=":", linewidth=1)
            axes.plot(start, height, "o", color=colour, markersize=4)
        axes.set(
            xlabel="Time $t$ (updates)",
            title=rf"$\eta_Y/\eta_Z={panel.nu:g}$, $M={panel.vocabulary_size}$,"
            rf" $K={figure.num_classes}$, $C_0={figure.c0:g}$",
        )
        axes.legend(framealpha=1)
    row[0, 0].set_ylabel("$B_n(t)$")
    return drawing
