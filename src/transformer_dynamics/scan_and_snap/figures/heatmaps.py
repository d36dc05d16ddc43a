"""Heat maps of the attention c_n: tokens across, updates down (Figures 4 and 5)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def heatmap(axes: "Axes", rows: "pd.DataFrame", *, boundaries: list[int], title: str) -> None:
    """Draw c_n of one run and one class.

    Args:
        axes: where to draw; it keeps its own colour scale, with a bar.
        rows: columns `iteration`, `token`, `attention`.
        boundaries: tokens at which a new group of tokens begins.
        title: of the panel.
    """
    import seaborn as sns

    grid = rows.pivot(index="iteration", columns="token", values="attention")
    sns.heatmap(
        grid, ax=axes, cmap="viridis", cbar_kws={"pad": 0.02, "label": "$c_{l|n}$"}, xticklabels=5
    )
    labels = [f"Iter {iteration}" for iteration in grid.index[:-1]] + ["Final"]
    axes.set_yticks([index + 0.5 for index in range(len(labels))], labels, rotation=0)
    for boundary in boundaries:
        axes.axvline(
            int(grid.columns.searchsorted(boundary)), color="white", linestyle="--", linewidth=1
        )
    axes.tick_params(axis="x", rotation=0)
    axes.set(xlabel="Token #", ylabel="", title=title)
