"""Heat maps of the attention c_n: tokens across, updates down (Figures 4 and 5)."""

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from replication.strict import distinct
from transformer_dynamics.scan_and_snap.figures.base import OfRuns, SequenceClass
from transformer_dynamics.scan_and_snap.measure_settings import Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class HeatMaps(OfRuns):
    """Heat maps of the attention c_n along training."""

    metric: ClassVar[Metric] = "attention"
    picture: ClassVar[str] = "png"
    seed: int
    """The seed that is drawn."""
    iterations: Annotated[
        list[Annotated[int, Field(ge=0)]], Field(min_length=2), AfterValidator(distinct)
    ]
    """Numbers of updates that are drawn; the last one is called final."""
    boundaries: list[SequenceClass] = []
    """Token ids at which a new group of tokens begins, marked by a line."""


def heatmap(axes: "Axes", rows: "pd.DataFrame", boundaries: list[int], title: str) -> None:
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
    for column in grid.columns.searchsorted(boundaries).tolist():
        axes.axvline(column, color="white", linestyle="--", linewidth=1)
    axes.tick_params(axis="x", rotation=0)
    axes.set(xlabel="Token #", ylabel="", title=title)
