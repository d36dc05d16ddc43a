"""Figure 2c: eigenvalues of the Jacobian of a loop, with and without normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    ConditionsFigure,
    condition_label,
    condition_styles,
    count_outside,
    draw_cloud,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2c(ConditionsFigure):
    """Eigenvalues of one loop of models as they were trained."""

    metrics: ClassVar[tuple[str, ...]] = ("spectrum",)
    title: ClassVar[str] = "Recurrent attention, Figure 2c: eigenvalues of the Jacobian of a loop"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "training", "seed", "board", "re", "im", "outside",
    )  # fmt: skip
    kind: Literal["fig2c"]
    """Kind of the figure."""
    seed: Seed
    """Seed of the run."""
    board: int = 0
    """Number of the board, from 0."""


def table(figure: Fig2c, *measured: Measured[MetricJob[Spectrum]]) -> "pd.DataFrame":
    """Return all eigenvalues of each model's own step; `training` is its number of updates.

    `outside` is the number of eigenvalues of a model that are not in the view.
    """
    import pandas as pd

    parts = []
    for name, (whole, job) in zip(figure.conditions, measured, strict=True):
        rows = whole[
            (whole["seed"] == figure.seed)
            & (whole["board"] == figure.board)
            & (whole["normalised"] == job.train.model.normalised)
        ]
        parts.append(
            rows.assign(
                model=name,
                training=job.train.training.updates,
                outside=count_outside(rows["re"], rows["im"]),
            )
        )
    return pd.concat(parts, ignore_index=True)[list(figure.columns)]


def draw(figure: Fig2c, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per model, with the unit circle."""
    from replication.figures.style import WIDTH

    styles = condition_styles(table["model"].unique())
    drawing, panels = make_panels(
        1, len(styles), 0.9 + 0.8 * WIDTH / len(styles), sharex=True, sharey=True
    )
    for axes, (name, style) in zip(panels.flat, styles.items(), strict=True):
        own = table[table["model"] == name]
        draw_cloud(axes, own, condition_label(name), style.colour)
        axes.label_outer()
    seed = table["seed"].iloc[0]
    legend_below(drawing, [], f"one loop on one board of seed {seed}; dashed: unit circle")
    return drawing
