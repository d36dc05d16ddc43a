"""Heat maps of the attention c_n: tokens across, updates down (Figures 4 and 5)."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from replication.base.strict import refuse_repeated
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures.base import OfRuns
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

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
        list[Annotated[int, Field(ge=0)]], Field(min_length=2), AfterValidator(refuse_repeated)
    ]
    """Numbers of updates that are drawn; the last one is called final."""


def attention(
    figure: HeatMaps, measured: Measured[MeasureJob], classes: list[int]
) -> "pd.DataFrame":
    """Attention of the drawn seed, updates and classes, and of each token its `group`.

    A group is the common tokens, or the distinct ones of a class.
    """
    from transformer_dynamics.scan_and_snap.tables import drawn

    (mixture,) = measured.job.mixtures.values()
    common, own = len(mixture.common_weights), len(mixture.distinct_weights)
    rows = drawn(measured.table, figure.seed, figure.iterations, classes)
    groups = {
        token: "common" if token < common else f"distinct of class {(token - common) // own + 1}"
        for token in range(mixture.num_contextual)
    }
    return rows.assign(group=rows["token"].map(groups))


def heatmap(axes: "Axes", rows: "pd.DataFrame", highest: float) -> Any:
    """Draw c_n of one run and one class.

    Args:
        axes: where to draw.
        rows: columns `iteration`, `token`, `group`, `attention`.
        highest: attention at the upper end of the colour scale; the lower one is 0.

    Returns:
        The image, for a bar of its colours.
    """
    grid = rows.pivot(index="iteration", columns="token", values="attention")
    height, width = grid.shape
    image = axes.imshow(
        grid, cmap="viridis", vmin=0, vmax=highest, aspect="auto", interpolation="nearest",
        extent=(0, width, height, 0),
    )  # fmt: skip
    labels = [f"Iter {iteration}" for iteration in grid.index[:-1]] + ["Final"]
    axes.set_yticks([row + 0.5 for row in range(height)], labels)
    # The last update comes long after the others.
    axes.axhline(height - 1, color="white", linewidth=2.5)
    shown = range(0, width, 5)
    axes.set_xticks(
        [column + 0.5 for column in shown], [str(grid.columns[column]) for column in shown]
    )
    for place in _groups(rows)["first"][1:]:
        axes.axvline(place, color="white", linestyle="--", linewidth=0.8)
    return image


def name_groups(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Write above a heat map what its groups of tokens are."""
    groups = _groups(rows)
    top = axes.secondary_xaxis("top")
    top.set_xticks(
        groups["middle"], groups.index.str.replace(" of ", "\nof "), fontsize="small", va="bottom"
    )
    top.tick_params(length=0)


def _groups(rows: "pd.DataFrame") -> "pd.DataFrame":
    """First and middle column of each group of tokens."""
    import pandas as pd

    tokens = rows.drop_duplicates("token").sort_values("token").reset_index()
    places = tokens.assign(place=tokens.index).groupby("group", sort=False)["place"]
    return pd.DataFrame({"first": places.min(), "middle": places.mean() + 0.5})
