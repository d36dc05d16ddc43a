"""Figure 5: part of c_n along training with Adam on Syn-Small."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.base.strict import Count
from replication.figures.panels import make_panels
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures.fig4 import (
    HeatMaps,
    attention_rows,
    draw_heatmap,
    name_groups,
)
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig5(HeatMaps):
    """Heat maps of part of the attention c_n along training with Adam, one panel per rate."""

    title: ClassVar[str] = "Scan and Snap, Figure 5: attention along training with Adam"
    columns: ClassVar[tuple[str, ...]] = (
        "seed", "learning_rate", "sequence_class", "iteration", "token", "group", "attention",
    )  # fmt: skip
    kind: Literal["fig5"]
    """Kind of the figure."""
    sequence_class: Count
    """Sequence class n = 1, 2, ... that is drawn, on its own support."""


def table(figure: Fig5, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return attention on the class's own support, where it is not zero."""
    rows = attention_rows(figure, measured, [figure.sequence_class])
    rows = rows[rows["attention"] > 0].rename(columns={"eta_z": "learning_rate"})
    columns = list(figure.columns)
    return rows[columns].sort_values(columns[:-2], ignore_index=True)


def draw(figure: Fig5, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one panel per learning rate."""
    rates = table["learning_rate"].unique()
    drawing, panels = make_panels(1, len(rates), 2.1, sharey=True)
    for axes, rate in zip(panels[0], rates, strict=True):
        rows = table[table["learning_rate"] == rate]
        image = draw_heatmap(axes, rows, table["attention"].max())
        name_groups(axes, rows)
        axes.set(title=rf"$\eta_Y=\eta_Z={rate:g}$", xlabel="Token #")
    panels[0, 0].set_ylabel(f"$c_{figure.sequence_class}$")
    drawing.colorbar(image, ax=panels, label=f"$c_{{l|n}}$, seed {figure.seed}", pad=0.01)
    return drawing
