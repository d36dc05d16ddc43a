"""Figure 9: B_n(t) at a fixed ratio of the learning rates."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Positive, Positives, Strict
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.figures.elements import Points, Size
from transformer_dynamics.scan_and_snap.figures.fig3 import (
    SNAPPING_START,
    curve_table,
    draw_curve,
    name_marks,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig9Panel(Strict):
    """One panel of Figure 9."""

    vocabulary_size: Size
    """Vocabulary size M."""
    nu: Positive
    """Ratio nu = eta_Y / eta_Z, the same for all curves."""
    eta_z: Positives
    """Learning rates of Z, a curve each."""
    last_time: Positive
    """End of the time axis, in updates."""


class Fig9(Figure):
    """B_n(t) at fixed nu."""

    title: ClassVar[str] = "Scan and Snap, Figure 9: B_n at a fixed ratio of rates"
    columns: ClassVar[tuple[str, ...]] = ("panel", "eta_y", "eta_z", "t", "mark", "growth_bound")
    kind: Literal["fig9"]
    """Kind of the figure."""
    num_classes: int = Field(ge=1, le=10**9)
    """Number K of sequence classes, which the paper does not state."""
    c0: Positive
    """Constant C_0, which the paper does not state."""
    panels: list[Fig9Panel] = Field(min_length=1)
    """Panels from left to right."""
    points: Points = 251
    """Drawn points per curve."""


def table(figure: Fig9) -> "pd.DataFrame":
    """Return B_n(t) as printed (129), which for C_0 = 1 is also the corrected form."""
    from functools import partial

    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.growth import Setting, exponent

    tables = []
    for index, panel in enumerate(figure.panels, start=1):
        for eta_z in panel.eta_z:
            eta_y = panel.nu * eta_z
            setting = Setting(eta_y, eta_z, panel.vocabulary_size, figure.num_classes, figure.c0)
            values = curve_table(
                setting, panel.last_time, figure.points, partial(exponent, printed=True)
            )
            values = values.rename(columns={"value": "growth_bound"})
            tables.append(values.assign(panel=index, eta_y=eta_y, eta_z=eta_z))
    return pd.concat(tables, ignore_index=True)[list(figure.columns)]


def draw(figure: Fig9, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one panel per ratio, one curve per eta_Z; a dashed line joins the dots at t_0."""
    from replication.figures.style import curve_styles

    drawing, row = make_panels(1, len(figure.panels), 2.6)
    styles = curve_styles(sorted(table["eta_z"].unique()))
    for index, (axes, panel) in enumerate(zip(row[0], figure.panels, strict=True), start=1):
        of_panel = table[table["panel"] == index]
        for eta_z, style in styles:
            rows = of_panel[of_panel["eta_z"] == eta_z]
            draw_curve(axes, rows, "growth_bound", style.colour, rf"$\eta_Z={eta_z:g}$")
        starts = of_panel[of_panel["mark"] == SNAPPING_START].sort_values("t")
        axes.plot(starts["t"], starts["growth_bound"], "--", color="black", linewidth=0.8, zorder=2)
        axes.set(
            xlim=(0, panel.last_time),
            ylim=(min(0, of_panel["growth_bound"].min()), None),
            xlabel="Time $t$ (updates)",
            title=rf"$\eta_Y/\eta_Z={panel.nu:g}$, $M={panel.vocabulary_size}$,"
            rf" $K={figure.num_classes}$, $C_0={figure.c0:g}$",
        )
    row[0, 0].set_ylabel("$B_n(t)$")
    name_marks(row[0, 0])
    legend_below(drawing, ncols=4)
    return drawing
