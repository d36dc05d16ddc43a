"""Losses by schedule."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import draw_seeds
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
    """Experiment with the linear schedule."""
    others: str = "schedules"
    """Experiment with other schedules for one case of the former."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the losses of both experiments."""
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
    """Draw losses by schedule, a panel per optimiser; a thin line is a seed."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        FINAL_LOSS,
        OPTIMISERS,
        add_legend,
        case_label,
        optimiser_styles,
    )

    shown = [name for name in OPTIMISERS if name in {*table["optimiser"]}]
    drawing, row = plt.subplots(
        1, len(shown), figsize=(0.62 * WIDTH, 2.7), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    names, styles = table.drop_duplicates("place"), optimiser_styles()
    for axes, optimiser in zip(row[0], shown, strict=True):
        own = table[table["optimiser"] == optimiser].rename(columns={"endpoint": "value"})
        draw_seeds(axes, own, "place", styles[optimiser])
        rates = " or ".join(f"{rate:g}" for rate in sorted({*own["rate"]}))
        axes.set_title(f"{OPTIMISERS[optimiser]}, rate {rates}")
        axes.set_xticks(names["place"], names["schedule"])
        axes.set_xlim(names["place"].min() - 0.4, names["place"].max() + 0.4)
        axes.set_ylim(0, None)
    row[0, 0].set_ylabel(FINAL_LOSS)
    cases = ", ".join(case_label(name) for name in dict.fromkeys(table["case"]))
    title = f"{cases}; a thin line per seed, {seed_count(table['seed'])}; marks are means"
    add_legend(drawing, [], title)
    return drawing
