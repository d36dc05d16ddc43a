"""One step on networks: the decrease that curvature promises, and the actual one."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METHODS = {"gradient": "SGD", "sign": "SignSGD", "block_rates": "SGD, a rate by block"}
"""Titles of panels, by direction of the step."""


class OneStep(ExperimentFigure):
    """Best rates and decreases of one step."""

    metrics: ClassVar[tuple[str, ...]] = ("one_step",)
    title: ClassVar[str] = "Gradient heterogeneity: one step"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "net", "task", "state", "set", "method", "seed", "batch", "predicted", "found",
    )  # fmt: skip
    kind: Literal["one_step"]
    """Kind of the figure."""
    experiment: str = "heterogeneity"
    """Experiment of the networks."""


def table(figure: OneStep, measured: Measured[MeasuredMetricJob]) -> "pd.DataFrame":
    """Compute part `rate`, eta* and the rate that gains most, and part `decrease`.

    A decrease is that at a quarter of eta*, in nats. Parts `equal ...` have the ends of lines where
    both are the same. Rows have decreases below zero, too, which a logarithmic axis does not show.
    """
    import pandas as pd

    from transformer_dynamics.gradient_heterogeneity.claims.one_step import (
        CAUTIOUS,
        STATE,
        best_rates,
    )

    rows = measured.table.dropna(subset="decrease")
    keys = [*STATE, "method", "seed"]
    best = [(*key, *best_rates(own)) for key, own in rows.groupby(keys, sort=False)]
    rates = pd.DataFrame(best, columns=[*keys, "predicted", "found"]).assign(part="rate")
    cautious = rows[rows["factor"] == CAUTIOUS].assign(part="decrease")
    gains = cautious.rename(columns={"sure": "predicted", "decrease": "found"})
    found = pd.concat([rates, gains], ignore_index=True)[list(figure.columns)]
    ends = found.groupby("part")["predicted"].agg(["min", "max"]).T
    lines = ends.reset_index(drop=True).melt(var_name="part", value_name="predicted")
    lines = lines.assign(part="equal " + lines["part"], found=lines["predicted"])
    return pd.concat([found, lines], ignore_index=True)


def draw(figure: OneStep, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw rates above, decreases below, a column per direction; shaded is less than promised."""
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_legend,
        direction_styles,
    )

    drawing, grid = make_panels(2, len(METHODS), 4.1, sharex="row", sharey="row")
    styles = direction_styles(METHODS)
    for line, part in zip(grid, ("rate", "decrease"), strict=True):
        equal = table[table["part"] == f"equal {part}"]
        for axes, (method, style) in zip(line, styles.items(), strict=True):
            own = table[(table["part"] == part) & (table["method"] == method)]
            axes.plot(equal["predicted"], equal["found"], color="0.3", linewidth=0.8)
            shown = own[own["found"] > 0]
            axes.scatter(
                shown["predicted"], shown["found"], s=9, color=style.colour, marker=style.marker,
                alpha=0.6, linewidths=0,
            )  # fmt: skip
            axes.set(xscale="log", yscale="log")
            if part == "decrease":
                axes.fill_between(
                    equal["predicted"], 0, equal["found"], color="0.5", alpha=0.15, linewidth=0
                )
                broken = int((own["found"] < own["predicted"]).sum())
                axes.text(
                    0.96, 0.05, f"{broken} of {len(own)}\nbelow the promise", ha="right",
                    fontsize=7, transform=axes.transAxes,
                )  # fmt: skip
    for axes, title in zip(grid[0], METHODS.values(), strict=True):
        axes.set_title(title)
    for axes in grid[0]:
        axes.set_xlabel(r"predicted best rate $\eta^*$")
    promised = r"decrease at $\eta^*/4$ that is promised if blocks are not coupled (nats)"
    grid[1, len(METHODS) // 2].set_xlabel(promised)
    grid[0, 0].set_ylabel("best rate")
    grid[1, 0].set_ylabel("decrease (nats)")
    seeds = seed_count(table["seed"])
    add_legend(
        drawing, [], f"a mark per network, state, tensors and seed, {seeds}; line: as promised"
    )
    return drawing
