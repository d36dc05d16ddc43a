"""What the lowest layer's attention is spent on along training on WikiText."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.study import Figure
from transformer_dynamics.scan_and_snap_text.settings import Names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.study import Measured

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


class WikitextDynamics(Figure):
    """What attention is spent on along training."""

    title: ClassVar[str] = "Scan and Snap: what attention is spent on along training on WikiText"
    columns: ClassVar[tuple[str, ...]] = ("model", "seed", "iteration", *PANELS)
    drawing: Literal["wikitext_dynamics"]
    """Which drawing."""
    experiments: Names
    """Names of the experiments that are drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """The dynamics of each experiment."""
        return [(name, "dynamics") for name in self.experiments]


def table(figure: WikitextDynamics, *measured: "Measured[Any]") -> "pd.DataFrame":
    """One row per run and recorded update."""
    import pandas as pd

    return pd.concat([item.table for item in measured], ignore_index=True)


def draw(figure: WikitextDynamics, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One panel per quantity, one curve per model: the mean over its seeds."""
    import matplotlib.pyplot as plt

    drawing, grid = plt.subplots(2, 4, figsize=(12, 5.2), layout="constrained")
    for axes, (column, (label, uniform)) in zip(grid.flat, PANELS.items(), strict=False):
        _panel(axes, table, column)
        if uniform is not None:
            axes.axhline(uniform, color="black", linestyle=":", linewidth=0.8)
        axes.set(xlabel="update", ylabel=label)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    grid.flat[-1].axis("off")
    grid.flat[-1].legend(handles, labels, loc="center", frameon=False)
    return drawing


def _panel(axes: "Axes", table: "pd.DataFrame", column: str) -> None:
    from replication.drawing import curve_styles

    for model, (colour, line, marker) in curve_styles(table["model"].unique()):
        means = table[table["model"] == model].groupby("iteration")[column].mean()
        label = str(model).replace("_", " ")
        axes.plot(means, color=colour, linestyle=line, marker=marker, markersize=3, label=label)
