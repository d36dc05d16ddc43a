"""Figure 10: likeness of steps and signs, and Adam between signs and gradients."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import draw_seeds, make_panels
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
    """Experiment with all optimisers."""
    epsilons: str = "adam_as_sign"
    """Experiment with Adam at larger epsilons, on one task."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the directions of steps, and the losses, of both experiments."""
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
    """Return the rows of a table with the task and the clipping of another table."""
    task, clip = other["task"].iloc[0], other["clip"].iloc[0]
    alike: pd.DataFrame = table[(table["task"] == task) & (table["clip"] == clip)]
    return alike


def draw(figure: Fig10, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the steps along training left, epsilons as categories in the middle and right."""
    from replication.figures.typeset import number, seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        FINAL_LOSS,
        OPTIMISERS,
        add_optimiser_legend,
        optimiser_styles,
    )

    drawing, [row] = make_panels(1, 3, 2.8)
    styles, epsilons = optimiser_styles(), sorted({*table["eps"].dropna()})
    places = {epsilon: place for place, epsilon in enumerate(epsilons)}
    for optimiser, style in styles.items():
        own = table[table["optimiser"] == optimiser]
        along = own[own["part"] == "along"]
        row[0].scatter(
            along["step"], along["value"], s=4, color=style.colour, alpha=0.4, linewidths=0
        )
        mean = along.drop_duplicates("step").sort_values("step")
        row[0].plot(mean["step"], mean["mean"], **style.look)
        for axes, part in zip(row[1:], ("cosine", "endpoint"), strict=True):
            rows = own[own["part"] == part]
            # Only Adam has an epsilon; the other one has a place of its own.
            has = optimiser == "adam"
            place = rows["eps"].map(places) if has else float(len(epsilons))
            rows = rows.assign(place=place).drop_duplicates(["place", "seed"])
            draw_seeds(axes, rows, "place", style)
    labels = [number(epsilon) for epsilon in epsilons]
    row[0].set(xlabel="step", ylabel="cosine of step and its signs", ylim=(0, 1.03), xlim=(0, None))
    row[1].set(ylabel="cosine, mean over steps", ylim=(0, 1.03), xlim=(-0.5, len(epsilons) - 0.5))
    row[1].set_xticks(range(len(epsilons)), labels)
    row[2].set(ylabel=FINAL_LOSS, ylim=(0, None), xlim=(-0.5, len(epsilons) + 0.5))
    row[2].set_xticks(range(len(epsilons) + 1), [*labels, OPTIMISERS["sgd_momentum"]])
    for axes in row[1:]:
        axes.set_xlabel(r"Adam's $\epsilon$")
    title = f"marks are means of {seed_count(table['seed'])} (dots and thin lines)"
    add_optimiser_legend(drawing, table["optimiser"], title, markers=True)
    return drawing
