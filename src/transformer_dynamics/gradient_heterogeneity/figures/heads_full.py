"""Heads of whole networks under signs, with an average of gradients and without."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

LENGTHS = ("common", "centred", "total")
"""Norms of V, over its length at the start."""
PARTS = ("drift", *LENGTHS)


class HeadsFull(ExperimentFigure):
    """Drift of biases and norms of heads along training."""

    metrics: ClassVar[tuple[str, ...]] = ("heads",)
    title: ClassVar[str] = "Gradient heterogeneity: heads of whole networks"
    columns: ClassVar[tuple[str, ...]] = (
        "case", "rate", "optimiser", "seed", "step", "part", "value", "mean",
    )  # fmt: skip
    kind: Literal["heads_full"]
    """Kind of the figure."""
    experiment: str = "heads_full"
    """Experiment of the networks."""


def table(figure: HeadsFull, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Collect a row per part of `PARTS`, case, rate, optimiser, seed and step, with means."""
    keys = ["case", "rate", "optimiser", "seed"]
    rows = measured.table.sort_values("step", kind="stable")
    start = rows.groupby(keys)["total"].transform("first")
    rows = rows.assign(**{name: rows[name] / start for name in LENGTHS})
    long = rows.melt([*keys, "step"], [*PARTS], "part").dropna(subset="value")
    means = long.groupby(["case", "rate", "optimiser", "step", "part"])["value"].transform("mean")
    return long.assign(mean=means)[list(figure.columns)]


def draw(figure: HeadsFull, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a row of panels per case and rate; small dots are seeds."""
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        HEAD_PARTS,
        add_optimiser_legend,
        case_label,
        optimiser_styles,
    )

    arms = list(dict.fromkeys(zip(table["case"], table["rate"], strict=True)))
    drawing, grid = make_panels(len(arms), len(PARTS), 0.9 + 1.7 * len(arms), sharex=True)
    for line, (name, rate) in zip(grid, arms, strict=True):
        of_arm = table[(table["case"] == name) & (table["rate"] == rate)]
        for axes, part in zip(line, PARTS, strict=True):
            for optimiser, style in optimiser_styles().items():
                own = of_arm[(of_arm["part"] == part) & (of_arm["optimiser"] == optimiser)]
                axes.scatter(
                    own["step"], own["value"], s=5, color=style.colour, alpha=0.3, linewidths=0
                )
                mean = own.drop_duplicates("step")
                axes.plot(mean["step"], mean["mean"], color=style.colour, linestyle=style.line)
            axes.set_xlim(0, None)
        line[0].set_ylabel(f"{case_label(name)}, rate {rate:g}\ndrift over the rate")
        line[1].set_ylabel("length over that of $V$\nat the start")
    titles = {"drift": "mean $b$"} | HEAD_PARTS
    for axes, part in zip(grid[0], PARTS, strict=True):
        axes.set_title(titles[part])
    for axes in grid[-1]:
        axes.set_xlabel("step")
    title = f"means of {seed_count(table['seed'])} (dots); drift is known from the first steps on"
    add_optimiser_legend(drawing, table["optimiser"], title)
    return drawing
