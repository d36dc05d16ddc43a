"""Losses by schedule."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Schedules(Figure):
    """SGD-m and Signum by schedule."""

    title: ClassVar[str] = "Gradient heterogeneity: schedules"
    columns: ClassVar[tuple[str, ...]] = (
        "case", "schedule", "optimiser", "rate", "seed", "place", "endpoint", "mean",
    )  # fmt: skip
    kind: Literal["schedules"]
    """Kind of the figure."""
    linear: str = "optimisers_text"
    """Runs with the linear schedule."""
    others: str = "schedules"
    """Runs of one of its cases with other schedules."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the losses of both."""
        return [(self.linear, "endpoint"), (self.others, "endpoint")]


def table(
    figure: Schedules, linear: Measured[MetricJob], others: Measured[MetricJob]
) -> "pd.DataFrame":
    """Collect a row per schedule, optimiser and seed of the case that has all schedules."""
    import pandas as pd

    rows = pd.concat([linear.table, others.table], ignore_index=True)
    cases, optimisers = others.table["case"].unique(), others.table["optimiser"].unique()
    rows = rows[rows["is_last"] & rows["case"].isin(cases) & rows["optimiser"].isin(optimisers)]
    order = {name: float(place) for place, name in enumerate(dict.fromkeys(rows["schedule"]))}
    means = rows.groupby(["case", "schedule", "optimiser"])["endpoint"].transform("mean")
    found = rows.assign(place=rows["schedule"].map(order), mean=means)
    return found[list(figure.columns)]


def draw(figure: Schedules, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw losses by schedule; dots are seeds."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        OPTIMISERS,
        optimiser_styles,
    )

    drawing, axes = plt.subplots(figsize=(0.7 * WIDTH, 2.5), layout="constrained")
    for optimiser, style in optimiser_styles().items():
        own = table[table["optimiser"] == optimiser]
        if len(own):
            axes.scatter(
                own["place"], own["endpoint"], s=6, color=style.colour, alpha=0.4, linewidths=0
            )
            mean = own.drop_duplicates("place")
            axes.plot(
                mean["place"], mean["mean"], color=style.colour, linestyle="none",
                marker=style.marker, label=OPTIMISERS[optimiser],
            )  # fmt: skip
    names = table.drop_duplicates("place")
    axes.set_xticks(names["place"], names["schedule"])
    axes.margins(x=0.1)
    axes.set(xlabel="schedule of the rate", ylabel="loss of the slice (nats)")
    axes.legend(frameon=False)
    return drawing
