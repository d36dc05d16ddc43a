"""Figure 5: part of c_n along training with Adam on Syn-Small."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import Iterations, OfRuns, SequenceClass
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig5(OfRuns):
    """Heat maps of part of the attention c_n along training with Adam, one panel per rate."""

    metric: ClassVar[Metric] = "attention"
    picture: ClassVar[str] = "png"
    title: ClassVar[str] = "Scan and Snap, Figure 5: attention along training with Adam"
    columns: ClassVar[tuple[str, ...]] = (
        "seed",
        "learning_rate",
        "sequence_class",
        "iteration",
        "token",
        "attention",
    )
    drawing: Literal["fig5"]
    """Which drawing."""
    seed: int
    """The seed that is drawn."""
    iterations: Iterations
    """Numbers of updates that are drawn; the last one is called final."""
    boundaries: list[SequenceClass] = []
    """Token ids at which a new group of tokens begins, marked by a line."""
    sequence_class: int = Field(ge=1)
    """Sequence class n = 1, 2, ... that is drawn, on its own support."""


def table(figure: Fig5, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Only the class's own support is drawn, where attention is not zero."""
    from transformer_dynamics.scan_and_snap.tables import drawn

    rows = drawn(measured.table, figure.seed, figure.iterations, [figure.sequence_class])
    rows = rows[rows["attention"] > 0].rename(columns={"eta_z": "learning_rate"})
    keys = ["seed", "learning_rate", "sequence_class", "iteration", "token"]
    return rows[[*keys, "attention"]].sort_values(keys, ignore_index=True)


def draw(figure: Fig5, table: "pd.DataFrame", published: "pd.DataFrame | None" = None) -> "Drawing":
    """One panel per learning rate."""
    import matplotlib.pyplot as plt

    from transformer_dynamics.scan_and_snap.figures.heatmaps import heatmap

    rates = table["learning_rate"].unique()
    drawing, panels = plt.subplots(
        1, len(rates), figsize=(4.2 * len(rates), 2.4), squeeze=False, layout="constrained"
    )
    n = table["sequence_class"].iloc[0]
    for axes, rate in zip(panels[0], rates, strict=True):
        heatmap(
            axes,
            table[table["learning_rate"] == rate],
            boundaries=figure.boundaries,
            title=rf"$c_{n}$, Adam,  $\eta_Y=\eta_Z={rate:g}$",
        )
    return drawing
