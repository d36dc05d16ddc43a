"""Figure 10: mean attention entropy on the validation text against the learning rate."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Name
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap_text.settings.training import Names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.study.contract import Measured

PANELS = {
    "attention_entropy": "Average self-attention\nentropy (nats)",
    "perplexity": "Perplexity of the\nvalidation text",
}
"""Columns that are drawn, and their labels."""


class Fig10(Figure):
    """Mean attention entropy on the validation text against the learning rate."""

    title: ClassVar[str] = "Scan and Snap, Figure 10: attention entropy against the learning rate"
    columns: ClassVar[tuple[str, ...]] = (
        "corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity",
        "attention_entropy_mean", "attention_entropy_std", "perplexity_mean", "perplexity_std",
        "uniform_entropy",
    )  # fmt: skip
    kind: Literal["fig10"]
    """Kind of the figure."""
    experiments: Names
    """Names of the experiments that are drawn."""
    panels: Annotated[dict[Name, str], Field(min_length=1)]
    """Corpora that have panels, and their title; of one without runs the caption says so."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the trained models of each experiment on the validation text."""
        return [(name, "validation") for name in self.experiments]


def table(figure: Fig10, *measured: "Measured[Any]") -> "pd.DataFrame":
    """Return one row per trained model, with mean and standard deviation (n - 1) over its seeds.

    `uniform_entropy` is that of uniform causal attention, the mean of ln i over the T positions i
    of a chunk.
    """
    import numpy as np
    import pandas as pd

    models = pd.concat(
        [
            item.table.assign(
                uniform_entropy=np.log(
                    np.arange(1, item.job.experiment.training.chunk_length + 1)
                ).mean()
            )
            for item in measured
        ],
        ignore_index=True,
    )
    for value in PANELS:
        of_a_rate = models.groupby(["corpus", "learning_rate"])[value]
        for moment in ("mean", "std"):
            models[f"{value}_{moment}"] = of_a_rate.transform(moment)
    order = ["corpus", "learning_rate", "seed"]
    return models[list(figure.columns)].sort_values(order, ignore_index=True)


def draw(figure: Fig10, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row of panels per corpus: entropy of attention, and perplexity.

    Seeds are points; error bars are one standard deviation over seeds, as in the paper.
    """
    shown = [corpus for corpus in figure.panels if corpus in set(table["corpus"])]
    drawing, grid = make_panels(len(shown), len(PANELS), 0.3 + 2.2 * len(shown))
    for row, corpus in zip(grid, shown, strict=True):
        rows = table[table["corpus"] == corpus]
        for axes, (column, label) in zip(row, PANELS.items(), strict=True):
            _draw_panel(axes, rows, column)
            axes.set(xlabel=r"Learning rate $\eta$", ylabel=label)
        row[0].set_title(f"{figure.panels[corpus]} ({_seeds_and_epochs(rows)})", loc="left")
        row[0].axhline(
            rows["uniform_entropy"].iloc[0], color="black", linestyle=":", label="uniform attention"
        )
        # Room for a marker at the least value.
        row[0].set_ylim(-0.05 * rows["uniform_entropy"].max(), None)
    legend_below(drawing)
    return drawing


def _draw_panel(axes: "Axes", rows: "pd.DataFrame", column: str) -> None:
    from replication.figures.style import CATEGORIES

    means = rows.drop_duplicates("learning_rate")
    axes.errorbar(
        means["learning_rate"], means[f"{column}_mean"], means[f"{column}_std"],
        color=CATEGORIES[0], capsize=2,
        label="mean over seeds, one standard deviation",
    )  # fmt: skip
    axes.plot(
        rows["learning_rate"], rows[column], color=CATEGORIES[0], linestyle="none", marker="o",
        markerfacecolor="none", markersize=3.5, label="seed",
    )  # fmt: skip
    axes.set_xticks(means["learning_rate"])


def _seeds_and_epochs(rows: "pd.DataFrame") -> str:
    """Return the number of seeds and of epochs behind a panel, in words."""
    seeds, epochs = rows["seed"].nunique(), rows["epochs"].max()
    return f"{seeds} seed{'s' if seeds > 1 else ''}, {epochs:.3g} epoch{'s' if epochs > 1 else ''}"
