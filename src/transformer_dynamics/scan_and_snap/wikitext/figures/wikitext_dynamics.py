"""What the lowest layer's attention is spent on along training on WikiText."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.wikitext.config import WikitextDynamics

PANELS = {
    "entropy_share": ("Entropy\nover that of uniform attention", 1.0),
    "change": ("Change of attention\nin 100 updates (total variation)", None),
    "diagonal": ("Attention on the query itself\nover uniform", 1.0),
    "first": ("Attention on the first position\nover uniform", 1.0),
    "function_words": ("Attention on function words\nover uniform", 1.0),
    "rare_words": ("Attention on rare words\nover uniform", 1.0),
    "distinctness": ("Rank correlation of attention\nand distinctness of the key", 0.0),
}
"""Columns that are drawn, what they are, and what uniform attention gives."""
COLUMNS = ("model", "seed", "iteration", *PANELS)


def draw(
    table: pd.DataFrame, settings: WikitextDynamics, reference: pd.DataFrame | None = None
) -> Figure:
    """One panel per quantity, one curve per model: the mean over its seeds."""
    figure, grid = plt.subplots(2, 4, figsize=(12, 5.2), layout="constrained")
    for axes, (column, (label, uniform)) in zip(grid.flat, PANELS.items(), strict=False):
        _panel(axes, table, column)
        if uniform is not None:
            axes.axhline(uniform, color="black", linestyle=":", linewidth=0.8)
        axes.set(xlabel="update", ylabel=label)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    grid.flat[-1].axis("off")
    grid.flat[-1].legend(handles, labels, loc="center", frameon=False)
    return figure


def _panel(axes: Axes, table: pd.DataFrame, column: str) -> None:
    for model, style in curve_styles(table["model"].unique()):
        means = table[table["model"] == model].groupby("iteration")[column].mean()
        axes.plot(
            means.index,
            means,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=3,
            label=str(model).replace("_", " "),
        )


main = draw_command(
    draw,
    WikitextDynamics,
    title="Scan and Snap: what attention is spent on along training on WikiText",
    columns=COLUMNS,
)

if __name__ == "__main__":
    main()
