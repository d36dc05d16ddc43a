"""Figure 2c: eigenvalues of the Jacobian of a step, with and without normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    OfConditions,
    called,
    clouds,
    outside,
)
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Spectrum

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2c(OfConditions):
    """Eigenvalues of one step of models as they were trained."""

    metrics: ClassVar[tuple[str, ...]] = ("spectrum",)
    title: ClassVar[str] = "Recurrent attention, Figure 2c: eigenvalues of the Jacobian of a step"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "training", "seed", "board", "re", "im", "outside",
    )  # fmt: skip
    drawing: Literal["fig2c"]
    """Which drawing."""
    seed: Seed
    """Which run."""
    board: int = 0
    """Which board."""


def table(figure: Fig2c, *measured: Measured[MeasureJob[Spectrum]]) -> "pd.DataFrame":
    """All eigenvalues of each model's own step; `training` is its number of updates.

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
                outside=outside(rows["re"], rows["im"]),
            )
        )
    return pd.concat(parts, ignore_index=True)[list(figure.columns)]


def draw(figure: Fig2c, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A panel per model, with the unit circle."""
    return clouds([(called(str(name)), rows) for name, rows in table.groupby("model", sort=False)])
