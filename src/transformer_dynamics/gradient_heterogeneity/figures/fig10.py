"""Figure 10: likeness of steps and signs, and Adam between signs and gradients."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
from transformer_dynamics.gradient_heterogeneity.settings.training import USUAL_EPSILON

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig10(Figure):
    """Cosines along training, cosines and endpoints against epsilon."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 10: Adam as sign descent"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "optimiser", "eps", "step", "seed", "value", "mean",
    )  # fmt: skip
    kind: Literal["fig10"]
    """Kind of the figure."""
    optimisers: str = "optimisers_text"
    """All optimisers."""
    epsilons: str = "adam_as_sign"
    """Adam with larger epsilons, of one task."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the directions of steps, and the losses, of both."""
        both = (self.optimisers, self.epsilons)
        return [(name, metric) for metric in ("step_directions", "endpoint") for name in both]


def table(figure: Fig10, *measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Collect runs of one task, clipped alike, by seed with means over seeds.

    Part `along`: cosine of a step with its own signs, without embeddings. Part `cosine`: its mean
    over steps, of Adam by epsilon. Part `endpoint`: loss of the slice in the end (nats), of Adam by
    epsilon and of SGD-m, whose epsilons are the least and the largest.
    """
    import pandas as pd

    changed = measured[1].table
    directions, ends = (
        _rows_alike(pd.concat([each.table for each in pair], ignore_index=True), changed)
        for pair in (measured[:2], measured[2:])
    )
    directions = directions[directions["set"] == "without_embeddings"]
    directions = directions.rename(columns={"own_sign": "value", "epsilon": "eps"})
    ends = ends[ends["is_last"]].rename(columns={"endpoint": "value", "epsilon": "eps"})
    usual = directions[directions["eps"].isna() | (directions["eps"] == USUAL_EPSILON)]
    adam = directions[directions["optimiser"] == "adam"]
    cosine = adam.groupby(["optimiser", "eps", "seed"], as_index=False)["value"].mean()
    sgd = ends[ends["optimiser"] == "sgd_momentum"]
    epsilons = adam["eps"].min(), adam["eps"].max()
    lines = [sgd.assign(part="endpoint", eps=each) for each in epsilons]
    found: pd.DataFrame = pd.concat(
        [
            usual.assign(part="along"),
            cosine.assign(part="cosine"),
            ends[ends["optimiser"] == "adam"].assign(part="endpoint"),
            *lines,
        ],
        ignore_index=True,
    )
    keys = ["part", "optimiser", "eps", "step"]
    means = found.groupby(keys, dropna=False)["value"].transform("mean")
    return found.assign(mean=means)[list(figure.columns)]


def _rows_alike(table: "pd.DataFrame", other: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of the other's task, clipped as it is."""
    task, clip = other["task"].iloc[0], other["clip"].iloc[0]
    alike: pd.DataFrame = table[(table["task"] == task) & (table["clip"] == clip)]
    return alike


def draw(figure: Fig10, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the steps along training left, epsilons in the middle and right; dots are seeds."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_optimiser_legend,
        optimiser_styles,
    )

    drawing, row = plt.subplots(1, 3, figsize=(WIDTH, 2.5), layout="constrained")
    panels = {"along": "step", "cosine": "eps", "endpoint": "eps"}
    for axes, (part, across) in zip(row, panels.items(), strict=True):
        rows = table[table["part"] == part]
        for optimiser, style in optimiser_styles().items():
            own = rows[rows["optimiser"] == optimiser]
            axes.scatter(
                own[across], own["value"], s=4, color=style.colour, alpha=0.3, linewidths=0
            )
            mean = own.drop_duplicates(across).sort_values(across)
            axes.plot(
                mean[across], mean["mean"], color=style.colour, linestyle=style.line,
                marker=style.marker if part != "endpoint" or optimiser == "adam" else "",
            )  # fmt: skip
        if across == "eps":
            axes.set(xscale="log", xlabel=r"Adam's $\epsilon$")
    row[0].set(xlabel="step", ylabel="cosine of step and its signs", ylim=(0, 1.03))
    row[1].set(ylabel="mean cosine, Adam", ylim=(0, 1.03))
    row[2].set_ylabel("loss of the slice (nats)")
    add_optimiser_legend(drawing, table["optimiser"], markers=True)
    return drawing
