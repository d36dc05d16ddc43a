"""Figure 4: c_n along training with SGD on Syn-Small.

Its heat maps, tokens across and updates down, are those of Figure 5, too.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from replication.base.strict import Counts, refuse_repeated
from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import select_rows
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class HeatMaps(ExperimentFigure):
    """Heat maps of the attention c_n along training."""

    metrics: ClassVar[tuple[str, ...]] = ("attention",)
    picture: ClassVar[str] = "png"
    seed: int
    """Seed that is drawn."""
    iterations: Annotated[
        list[Annotated[int, Field(ge=0)]], Field(min_length=2), AfterValidator(refuse_repeated)
    ]
    """Numbers of updates that are drawn; the last one is called final."""


class Fig4(HeatMaps):
    """Heat maps of the attention c_n along training with SGD, one column per cell."""

    title: ClassVar[str] = "Scan and Snap, Figure 4: attention along training with SGD"
    columns: ClassVar[tuple[str, ...]] = (
        "seed", "eta_y", "eta_z", "sequence_class", "iteration", "token", "group", "attention",
    )  # fmt: skip
    kind: Literal["fig4"]
    """Kind of the figure."""
    sequence_classes: Counts
    """Sequence classes n = 1, 2, ... that are drawn, one row each."""


def table(figure: Fig4, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return the attention of the drawn seed, updates and classes."""
    rows = attention_rows(figure, measured, figure.sequence_classes)
    rows = rows.assign(eta_y=rows["eta_z"] * rows["ratio"])[list(figure.columns)]
    return rows.sort_values(list(figure.columns[:-2]), ignore_index=True)


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row of panels per sequence class, one column per pair of learning rates."""
    cells = table[["eta_y", "eta_z"]].drop_duplicates().to_numpy()
    classes = table["sequence_class"].unique()
    drawing, panels = make_panels(
        len(classes), len(cells), 0.9 + 1.15 * len(classes), sharex=True, sharey=True
    )
    for row, n in zip(panels, classes, strict=True):
        for axes, (eta_y, eta_z) in zip(row, cells, strict=True):
            rows = table.query("sequence_class == @n and eta_y == @eta_y and eta_z == @eta_z")
            image = draw_heatmap(axes, rows, table["attention"].max())
            if axes in panels[0]:
                name_groups(axes, rows)
                axes.set_title(rf"$\eta_Y={eta_y:g}$, $\eta_Z={eta_z:g}$")
        row[0].set_ylabel(f"$c_{n}$")
    for axes in panels[-1]:
        axes.set_xlabel("Token #")
    drawing.colorbar(
        image, ax=panels, label=f"$c_{{l|n}}$, seed {figure.seed}", pad=0.01, aspect=30
    )
    return drawing


def attention_rows(
    figure: HeatMaps, measured: Measured[MetricJob], classes: list[int]
) -> "pd.DataFrame":
    """Return the attention of the drawn seed, updates and classes, and of each token its `group`.

    A group is the common tokens, or the distinct ones of a class.
    """
    (mixture,) = measured.job.mixtures.values()
    common, own = len(mixture.common_weights), len(mixture.distinct_weights)
    rows = select_rows(measured.table, figure.seed, figure.iterations, classes)
    groups = {
        token: "common" if token < common else f"distinct of class {(token - common) // own + 1}"
        for token in range(mixture.num_contextual)
    }
    return rows.assign(group=rows["token"].map(groups))


def draw_heatmap(axes: "Axes", rows: "pd.DataFrame", highest: float) -> Any:
    """Draw c_n of one run and one class; return the image, for a bar of its colours.

    Rows have columns `iteration`, `token`, `group` and `attention`. Colours go from 0 to `highest`.
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
    """Return first and middle column of each group of tokens."""
    import pandas as pd

    tokens = rows.drop_duplicates("token").sort_values("token").reset_index()
    places = tokens.assign(place=tokens.index).groupby("group", sort=False)["place"]
    return pd.DataFrame({"first": places.min(), "middle": places.mean() + 0.5})
