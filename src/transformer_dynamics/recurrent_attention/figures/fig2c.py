"""Figure 2c: eigenvalues of the Jacobian of a step, with and without normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    ConditionsFigure,
    condition_label,
    count_outside,
    draw_clouds,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2c(ConditionsFigure):
    """Eigenvalues of one step of models as they were trained."""

    metrics: ClassVar[tuple[str, ...]] = ("spectrum",)
    title: ClassVar[str] = "Recurrent attention, Figure 2c: eigenvalues of the Jacobian of a step"
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

    `outside` is how many eigenvalues of a model are not in the view.
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
    return draw_clouds(
        [(condition_label(str(name)), rows) for name, rows in table.groupby("model", sort=False)]
    )
