"""Figure 4: c_n along training with SGD on Syn-Small."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import refuse_repeated
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures.base import SequenceClass
from transformer_dynamics.scan_and_snap.figures.heatmaps import (
    HeatMaps,
    attention,
    heatmap,
    name_groups,
)
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig4(HeatMaps):
    """Heat maps of the attention c_n along training with SGD, one column per cell."""

    title: ClassVar[str] = "Scan and Snap, Figure 4: attention along training with SGD"
    columns: ClassVar[tuple[str, ...]] = (
        "seed", "eta_y", "eta_z", "sequence_class", "iteration", "token", "group", "attention",
    )  # fmt: skip
    drawing: Literal["fig4"]
    """Which drawing."""
    sequence_classes: Annotated[
        list[SequenceClass], Field(min_length=1), AfterValidator(refuse_repeated)
    ]
    """Sequence classes n = 1, 2, ... that are drawn, one row each."""


def table(figure: Fig4, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Attention of the drawn seed, updates and classes."""
    rows = attention(figure, measured, figure.sequence_classes)
    rows = rows.assign(eta_y=rows["eta_z"] * rows["ratio"])[list(figure.columns)]
    return rows.sort_values(list(figure.columns[:-2]), ignore_index=True)


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One row of panels per sequence class, one column per pair of learning rates."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    cells = table[["eta_y", "eta_z"]].drop_duplicates().to_numpy()
    classes = table["sequence_class"].unique()
    drawing, panels = plt.subplots(
        len(classes), len(cells), figsize=(WIDTH, 0.9 + 1.15 * len(classes)), sharex=True,
        sharey=True, squeeze=False, layout="constrained",
    )  # fmt: skip
    for row, n in zip(panels, classes, strict=True):
        for axes, (eta_y, eta_z) in zip(row, cells, strict=True):
            rows = table.query("sequence_class == @n and eta_y == @eta_y and eta_z == @eta_z")
            image = heatmap(axes, rows, table["attention"].max())
            if axes in panels[0]:
                name_groups(axes, rows)
                axes.set_title(rf"$\eta_Y={eta_y:g}$, $\eta_Z={eta_z:g}$")
        row[0].set_ylabel(f"$c_{n}$")
    for axes in panels[-1]:
        axes.set_xlabel("Token #")
    drawing.colorbar(image, ax=panels, label="$c_{l|n}$", pad=0.01, aspect=30)
    return drawing
