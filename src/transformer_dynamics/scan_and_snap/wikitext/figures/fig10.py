"""Figure 10: mean attention entropy on the validation text against the learning rate."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.wikitext.config import Fig10

COLUMNS = ("corpus", "learning_rate", "seed", "epochs", "attention_entropy", "perplexity")


def draw(table: pd.DataFrame, settings: Fig10, reference: pd.DataFrame | None = None) -> Figure:
    """One panel per corpus; error bars are one standard deviation over seeds, as in the paper."""
    figure, row = plt.subplots(
        1,
        len(settings.panels),
        figsize=(3.1 * len(settings.panels), 2.6),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for axes, (corpus, title) in zip(row[0], settings.panels.items(), strict=True):
        rows = table[table["corpus"] == corpus]
        if rows.empty:
            axes.text(
                0.5,
                0.5,
                "not tested:\ndata not at hand",
                ha="center",
                va="center",
                transform=axes.transAxes,
            )
            axes.set(title=title, xticks=[])
        else:
            _panel(axes, rows)
            axes.set_title(f"{title} ({_run(rows)})")
    row[0, 0].set_ylabel("Average self-attention\nentropy (nats)")
    # Room for a marker above the largest value.
    row[0, 0].set_ylim(0, 1.08 * row[0, 0].dataLim.y1)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    entropy = rows.groupby("learning_rate")["attention_entropy"].agg(["mean", "std"])
    axes.errorbar(
        entropy.index,
        entropy["mean"],
        entropy["std"].fillna(0),
        color="black",
        marker="o",
        markersize=4,
        capsize=2,
    )
    axes.set_xticks(sorted(rows["learning_rate"].unique()))
    axes.set_xlabel(r"Learning rate $\eta$")


def _run(rows: pd.DataFrame) -> str:
    """How many seeds and epochs stand behind a panel."""
    seeds, epochs = rows["seed"].nunique(), rows["epochs"].max()
    return f"{seeds} seed{'s' if seeds > 1 else ''}, {epochs:.3g} epoch{'s' if epochs > 1 else ''}"


main = draw_command(
    draw,
    Fig10,
    title="Scan and Snap, Figure 10: attention entropy against the learning rate",
    columns=COLUMNS,
)

if __name__ == "__main__":
    main()
