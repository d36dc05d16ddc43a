"""Figure 2: how long every direction takes to be half learned."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.example.settings import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2(ExperimentFigure):
    """Half-life of the error against the variance of the direction."""

    metrics: ClassVar[tuple[str, ...]] = ("half_life",)
    title: ClassVar[str] = "Example, Figure 2: half-life of the error"
    columns: ClassVar[tuple[str, ...]] = ("seed", "variance", "half_life", "theory")
    kind: Literal["fig2"]
    """Kind of the figure."""


def table(figure: Fig2, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return the half-life of every seed beside the theory, ln 2 / -ln(1 - eta variance).

    The order does not depend on how the seeds were cut into jobs.
    """
    import numpy as np

    rows = measured.table.sort_values(["variance", "seed"], ascending=[False, True])
    remaining = 1 - measured.job.training.learning_rate * rows["variance"]
    return rows.assign(theory=-np.log(2) / np.log(remaining))


def draw(figure: Fig2, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one point per seed and direction; dashes: theory."""
    import matplotlib.pyplot as plt

    drawing, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    line = table.drop_duplicates("variance")
    axes.plot(line["variance"], line["theory"], color="black", linestyle="--", label="theory")
    axes.plot(table["variance"], table["half_life"], "o", markerfacecolor="none", label="one seed")
    axes.set(xlabel="variance", ylabel="half-life (updates)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.legend(loc="upper right", frameon=False)
    return drawing
