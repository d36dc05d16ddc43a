"""Figure 7: attention maps of the lowest layer along training on WikiText-2."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.wikitext.config import Fig7

COLUMNS = (
    "layers", "iteration", "query_position", "key_position", "attention", "query_word", "key_word",
)  # fmt: skip


def draw(table: pd.DataFrame, settings: Fig7, reference: pd.DataFrame | None = None) -> Figure:
    """One row of panels per number of layers, one column per number of updates.

    All panels share one colour scale. Rows of a panel are queries, columns keys.
    """
    depths, updates = table["layers"].unique(), table["iteration"].unique()
    side = 4.6 if settings.words else 2.4
    figure, panels = plt.subplots(
        len(depths),
        len(updates),
        figsize=(side * len(updates), side * len(depths)),
        squeeze=False,
        layout="constrained",
    )
    for row, layers in zip(panels, depths, strict=True):
        for axes, iteration in zip(row, updates, strict=True):
            rows = table[(table["layers"] == layers) & (table["iteration"] == iteration)]
            grid = rows.pivot(index="query_position", columns="key_position", values="attention")
            words = rows.drop_duplicates("query_position")["query_word"].tolist()
            sns.heatmap(
                grid,
                ax=axes,
                cmap="viridis",
                vmin=0,
                vmax=1,
                square=True,
                cbar=False,
                xticklabels=words if settings.words else 10,
                yticklabels=words if settings.words else 10,
            )
            axes.tick_params(axis="x", rotation=90 if settings.words else 0)
            axes.set(xlabel="", ylabel="", title=f"Iter {iteration}")
        row[0].set_ylabel(f"{layers} layer{'s' if layers > 1 else ''}\nquery position")
    for axes in panels[-1]:
        axes.set_xlabel("key position")
    figure.colorbar(panels[0, 0].collections[0], ax=panels, shrink=0.6, label="attention")
    return figure


main = draw_command(
    draw,
    Fig7,
    title="Scan and Snap, Figure 7: attention of the lowest layer on WikiText-2",
    columns=COLUMNS,
)

if __name__ == "__main__":
    main()
