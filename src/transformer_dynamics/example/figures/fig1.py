"""Figure 1: error along every direction while training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.example.settings import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig1(ExperimentFigure):
    """Error along every direction against the number of updates."""

    metrics: ClassVar[tuple[str, ...]] = ("error",)
    title: ClassVar[str] = "Example, Figure 1: error along every direction"
    columns: ClassVar[tuple[str, ...]] = (
        "variance", "update", "error_mean", "error_std", "theory",
    )  # fmt: skip
    published_columns: ClassVar[tuple[str, ...]] = ("variance", "update", "error_mean")
    kind: Literal["fig1"]
    """Kind of the figure."""


def table(figure: Fig1, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return mean and deviation over seeds beside the theory, (1 - eta variance)^update."""
    errors = measured.table.groupby(["variance", "update"])["error"].agg(["mean", "std"])
    rows = errors.add_prefix("error_").reset_index()
    remaining = 1 - measured.job.training.learning_rate * rows["variance"]
    return rows.assign(theory=remaining ** rows["update"])


def draw(figure: Fig1, table: "pd.DataFrame", published: "pd.DataFrame | None" = None) -> "Drawing":
    """Draw a curve and a band of one deviation per direction; dashes: theory; circles: print."""
    import matplotlib.pyplot as plt

    from replication.figures.style import curve_styles

    drawing, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    for variance, (colour, _, _) in curve_styles(table["variance"].unique()):
        rows = table[table["variance"] == variance]
        mean, std = rows["error_mean"], rows["error_std"]
        axes.fill_between(rows["update"], mean - std, mean + std, color=colour, alpha=0.3, lw=0)
        axes.plot(rows["update"], mean, color=colour, label=f"variance {variance:g}")
        (dashes,) = axes.plot(rows["update"], rows["theory"], "--", color="black", linewidth=0.7)
    dashes.set_label("theory")
    if published is not None:
        means = published["error_mean"]
        axes.plot(published["update"], means, "o", color="black", mfc="none", label="printed")
    axes.set(xlabel="update", ylabel="error $1 - w_d$")
    axes.legend(loc="upper right", frameon=False)
    return drawing
