"""Figure 10: mean attention entropy on the validation text against the learning rate."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.study import Figure
from transformer_dynamics.scan_and_snap_text.settings import Name, Names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.study import Measured


class Fig10(Figure):
    """Mean attention entropy on the validation text against the learning rate."""

    title: ClassVar[str] = "Scan and Snap, Figure 10: attention entropy against the learning rate"
    columns: ClassVar[tuple[str, ...]] = (
        "corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity",
    )  # fmt: skip
    drawing: Literal["fig10"]
    """Which drawing."""
    experiments: Names
    """Names of the experiments that are drawn."""
    panels: Annotated[dict[Name, str], Field(min_length=1)]
    """Corpora that have a panel, and its title; one without runs is marked as not tested."""

    def sources(self) -> list[tuple[str, str]]:
        """The trained models of each experiment on the validation text."""
        return [(name, "validation") for name in self.experiments]


def table(figure: Fig10, *measured: "Measured[Any]") -> "pd.DataFrame":
    """One row per trained model."""
    import pandas as pd

    models = pd.concat([item.table for item in measured], ignore_index=True)
    order = ["corpus", "learning_rate", "seed"]
    return models[list(figure.columns)].sort_values(order, ignore_index=True)


def draw(figure: Fig10, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One panel per corpus; error bars are one standard deviation over seeds, as in the paper."""
    import matplotlib.pyplot as plt

    drawing, row = plt.subplots(
        1,
        len(figure.panels),
        figsize=(3.1 * len(figure.panels), 2.6),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for axes, (corpus, title) in zip(row[0], figure.panels.items(), strict=True):
        rows = table[table["corpus"] == corpus]
        if rows.empty:
            words = "not tested:\ndata not at hand"
            axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes)
            axes.set(title=title, xticks=[])
        else:
            _panel(axes, rows)
            axes.set_title(f"{title} ({_run(rows)})")
    row[0, 0].set_ylabel("Average self-attention\nentropy (nats)")
    # Room for a marker above the largest value.
    row[0, 0].set_ylim(0, 1.08 * row[0, 0].dataLim.y1)
    return drawing


def _panel(axes: "Axes", rows: "pd.DataFrame") -> None:
    entropy = rows.groupby("learning_rate")["attention_entropy"].agg(["mean", "std"])
    mean, std = entropy["mean"], entropy["std"].fillna(0)
    axes.errorbar(entropy.index, mean, std, color="black", marker="o", markersize=4, capsize=2)
    axes.set(xticks=entropy.index, xlabel=r"Learning rate $\eta$")


def _run(rows: "pd.DataFrame") -> str:
    """How many seeds and epochs stand behind a panel."""
    seeds, epochs = rows["seed"].nunique(), rows["epochs"].max()
    return f"{seeds} seed{'s' if seeds > 1 else ''}, {epochs:.3g} epoch{'s' if epochs > 1 else ''}"
