"""One step on networks: the decrease that curvature promises, and the actual one."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METHODS = {"gradient": "gradient", "sign": "signs", "block_rates": "rates by block"}


class OneStep(Figure):
    """Best rates and decreases of one step."""

    title: ClassVar[str] = "Gradient heterogeneity: one step"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "net", "task", "state", "set", "method", "seed", "batch", "predicted", "found",
    )  # fmt: skip
    kind: Literal["one_step"]
    """Kind of the figure."""
    experiment: str = "heterogeneity"
    """Experiment of the networks."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the metric of all rates that were tried."""
        return [(self.experiment, "one_step")]


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
    """Draw rates left, decreases right, all axes logarithmic; lines are exact predictions."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, row = plt.subplots(1, 2, figsize=(WIDTH, 3), layout="constrained")
    for axes, part in zip(row, ("rate", "decrease"), strict=True):
        equal = table[table["part"] == f"equal {part}"]
        axes.plot(equal["predicted"], equal["found"], color="0.3", linewidth=0.8)
        for method, style in category_styles(METHODS):
            own = table[(table["part"] == part) & (table["method"] == method)]
            own = own[own["found"] > 0]
            axes.scatter(
                own["predicted"], own["found"], s=9, color=style.colour, marker=style.marker,
                alpha=0.6, linewidths=0, label=METHODS[method],
            )  # fmt: skip
        axes.set(xscale="log", yscale="log")
    row[0].set(xlabel=r"predicted best rate $\eta^*$", ylabel="best rate")
    row[1].set(xlabel=r"sure decrease at $\eta^*/4$ (nats)", ylabel="decrease (nats)")
    row[0].legend(frameon=False)
    return drawing
