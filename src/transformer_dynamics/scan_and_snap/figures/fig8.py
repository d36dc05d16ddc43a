"""Figure 8: h*(s) of the discrete updates and h(s) of the continuous dynamics."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Positives, Strict
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.figures.elements import Size

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

UPDATES: dict[str, Any] = {"linewidth": 1.8, "alpha": 0.5, "solid_capstyle": "butt"}
CONTINUOUS: dict[str, Any] = {"linewidth": 0.7}
"""Style of the thin curve of h, which is seen within the broad and pale one of h*, `UPDATES`."""


class Fig8Panel(Strict):
    """One panel of Figure 8."""

    vocabulary_size: Size
    """Vocabulary size M."""
    eta_y: Positives
    """Learning rates of Y, a curve each."""
    last_step: int = Field(ge=1, le=100_000)
    """Number of updates."""


class Fig8(Figure):
    """h*(s) of the updates and h(s) of the continuous dynamics."""

    title: ClassVar[str] = "Scan and Snap, Figure 8: h* and h"
    columns: ClassVar[tuple[str, ...]] = (
        "panel", "eta_y", "t", "h_step", "h_continuous", "scaled_gap", "scaled_gap_limit",
    )  # fmt: skip
    kind: Literal["fig8"]
    """Kind of the figure."""
    panels: list[Fig8Panel] = Field(min_length=1)
    """Panels from left to right."""


def table(figure: Fig8) -> "pd.DataFrame":
    """Return h*(s) by (33), constant between updates, and h(s) by (45), at s = 0, 1/4, 1/2, ...

    At whole updates, too, their gap in units of eta_Y/M, which Lemma 7 bounds.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.decoder import GAP_LIMIT, h_continuous, h_steps

    tables = []
    for index, panel in enumerate(figure.panels, start=1):
        size, quarters = panel.vocabulary_size, np.arange(4 * panel.last_step + 1)
        for eta_y in panel.eta_y:
            steps = h_steps(eta_y, size, panel.last_step)[quarters // 4]
            continuous = h_continuous(eta_y, size, quarters / 4)
            gap = (steps - continuous) * size / eta_y
            columns = {
                "panel": index,
                "eta_y": eta_y,
                "t": quarters / 4,
                "h_step": steps,
                "h_continuous": continuous,
                "scaled_gap": np.where(quarters % 4, np.nan, gap),
                "scaled_gap_limit": GAP_LIMIT,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def draw(figure: Fig8, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one column per vocabulary size: broad pale steps h* with h in them; below, their gap."""
    from replication.figures.style import curve_styles

    drawing, panels = make_panels(2, len(figure.panels), 4.2, sharex="col", height_ratios=[1.6, 1])
    styles = dict(curve_styles(sorted(table["eta_y"].unique())))
    for index, (panel, column) in enumerate(zip(figure.panels, panels.T, strict=True), start=1):
        of_panel = table[table["panel"] == index]
        for eta_y in panel.eta_y:
            rows = of_panel[of_panel["eta_y"] == eta_y]
            _draw_curve(column, rows, styles[eta_y].colour, rf"$\eta_Y={eta_y:g}$")
        column[0].set(xlim=(0, panel.last_step), ylim=(0, None))
        column[0].set_title(f"$M={panel.vocabulary_size}$, $K=1$")
        limit = of_panel["scaled_gap_limit"]
        column[1].plot(of_panel["t"], limit, "--", color="black", linewidth=0.8, label="bound")
        column[1].set(xlabel="Time $t$ (updates)", yscale="log", ylim=_gap_limits(table))
    panels[0, 0].set_ylabel("$h^*(t)$ and $h(t)$")
    panels[1, 0].set_ylabel(r"$(h^*-h)\,M/\eta_Y$")
    for label, style in {"updates $h^*$": UPDATES, "continuous $h$": CONTINUOUS}.items():
        panels[1, 0].plot([], [], color="0.3", label=label, **style)
    legend_below(drawing, ncols=5)
    return drawing


def _draw_curve(column: "Sequence[Axes]", rows: "pd.DataFrame", colour: object, label: str) -> None:
    above, below = column
    above.step(rows["t"], rows["h_step"], where="post", color=colour, **UPDATES)
    above.plot(rows["t"], rows["h_continuous"], color=colour, label=label, **CONTINUOUS)
    # There is none at the start, and a logarithmic axis has no zero.
    gap = rows[rows["scaled_gap"] > 0]
    below.plot(gap["t"], gap["scaled_gap"], color=colour)


def _gap_limits(table: "pd.DataFrame") -> tuple[float, float]:
    """Return limits that show gaps not much smaller than the largest, and the bound."""
    return table["scaled_gap"].max() / 30, table["scaled_gap_limit"].max() * 1.5
