"""Figure 8: h*(s) of the discrete updates and h(s) of the continuous dynamics."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.strict import Strict
from replication.study import Figure
from transformer_dynamics.scan_and_snap.figures.base import Size
from transformer_dynamics.scan_and_snap.settings import PositiveList

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig8Panel(Strict):
    """One panel of Figure 8."""

    vocabulary_size: Size
    """M."""
    eta_y: PositiveList
    """Learning rates of Y, a curve each."""
    last_step: int = Field(ge=1, le=100_000)
    """Number of updates."""


class Fig8(Figure):
    """h*(s) of the updates and h(s) of the continuous dynamics."""

    title: ClassVar[str] = "Scan and Snap, Figure 8: h* and h"
    columns: ClassVar[tuple[str, ...]] = ("panel", "eta_y", "t", "h_step", "h_continuous")
    drawing: Literal["fig8"]
    """Which drawing."""
    panels: list[Fig8Panel] = Field(min_length=1)
    """Panels from left to right."""


def table(figure: Fig8) -> "pd.DataFrame":
    """h*(s) by (33), constant between updates, and h(s) by (45), at s = 0, 1/4, 1/2, ..."""
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.decoder import h_continuous, h_steps

    tables = []
    for index, panel in enumerate(figure.panels, start=1):
        size, quarters = panel.vocabulary_size, np.arange(4 * panel.last_step + 1)
        for eta_y in panel.eta_y:
            columns = {
                "panel": index,
                "eta_y": eta_y,
                "t": quarters / 4,
                "h_step": h_steps(eta_y, size, panel.last_step)[quarters // 4],
                "h_continuous": h_continuous(eta_y, size, quarters / 4),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig8, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One panel per vocabulary size; steps are h*, smooth curves are h."""
    import matplotlib.pyplot as plt

    from replication.drawing import curve_styles

    drawing, row = plt.subplots(
        1, len(figure.panels), figsize=(9, 3.1), squeeze=False, layout="constrained"
    )
    for index, (axes, panel) in enumerate(zip(row[0], figure.panels, strict=True), start=1):
        for eta_y, (colour, line, _) in curve_styles(panel.eta_y):
            rows = table[(table["panel"] == index) & (table["eta_y"] == eta_y)]
            axes.step(rows["t"], rows["h_step"], where="post", color=colour, linewidth=0.8)
            label = rf"$\eta_Y={eta_y:g}$"
            axes.plot(rows["t"], rows["h_continuous"], color=colour, linestyle=line, label=label)
        axes.set(xlabel="Time $t$ (updates)", title=f"$M={panel.vocabulary_size}$, $K=1$")
        axes.legend(frameon=False)
    row[0, 0].set_ylabel("$h^*(t)$ (steps), $h(t)$ (curves)")
    return drawing
