"""Figure 7: attention maps of the lowest layer along training on WikiText-2."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.study import Figure
from transformer_dynamics.scan_and_snap_text.settings import Names, Updates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from replication.study import Measured


class Fig7(Figure):
    """Attention maps of the lowest layer along training, a row of panels per model."""

    title: ClassVar[str] = "Scan and Snap, Figure 7: attention of the lowest layer on WikiText-2"
    columns: ClassVar[tuple[str, ...]] = (
        "layers", "iteration", "query_position", "key_position", "attention", "query_word",
        "key_word",
    )  # fmt: skip
    picture: ClassVar[str] = "png"
    drawing: Literal["fig7"]
    """Which drawing."""
    experiments: Names
    """Names of the experiments that are drawn."""
    seed: int
    """The seed that is drawn."""
    iterations: Annotated[Updates, Field(min_length=1)]
    """Numbers of updates that are drawn."""
    words: bool = False
    """Write the chunk's words on the axes."""

    def sources(self) -> list[tuple[str, str]]:
        """The maps of each experiment."""
        return [(name, "maps") for name in self.experiments]


def table(figure: Fig7, *measured: "Measured[Any]") -> "pd.DataFrame":
    """One row per model, update, query and key."""
    import pandas as pd

    maps = pd.concat([item.table for item in measured], ignore_index=True)
    shown = maps["iteration"].isin(figure.iterations) & (maps["seed"] == figure.seed)
    order = ["layers", "iteration", "query_position", "key_position"]
    return maps.loc[shown, list(figure.columns)].sort_values(order, ignore_index=True)


def draw(figure: Fig7, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One row of panels per number of layers, one column per number of updates.

    All panels share one colour scale. Rows of a panel are queries, columns keys.
    """
    import matplotlib.pyplot as plt
    import seaborn as sns

    depths, updates = table["layers"].unique(), table["iteration"].unique()
    side = 4.6 if figure.words else 2.4
    drawing, panels = plt.subplots(
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
            labels = words if figure.words else 10
            sns.heatmap(
                grid, ax=axes, cmap="viridis", vmin=0, vmax=1, square=True, cbar=False,
                xticklabels=labels, yticklabels=labels,
            )  # fmt: skip
            axes.tick_params(axis="x", rotation=90 if figure.words else 0)
            axes.set(xlabel="", ylabel="", title=f"Iter {iteration}")
        row[0].set_ylabel(f"{layers} layer{'s' if layers > 1 else ''}\nquery position")
    for axes in panels[-1]:
        axes.set_xlabel("key position")
    drawing.colorbar(panels[0, 0].collections[0], ax=panels, shrink=0.6, label="attention")
    return drawing
