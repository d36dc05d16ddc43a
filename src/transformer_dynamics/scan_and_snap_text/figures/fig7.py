"""Figure 7: attention maps of the lowest layer along training on WikiText-2."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import make_panels
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap_text.settings.training import Names, Updates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.study.contract import Measured

SHORTEST = 3
"""Least number of queries that attend to a key which is then called a stripe."""
APART = 4
"""Number of rows between two words, so that these do not touch."""
PER_LETTER = 1.95
"""Number of columns that a letter takes."""


class Fig7(Figure):
    """Attention maps of the lowest layer along training, a row of panels per model."""

    title: ClassVar[str] = "Scan and Snap, Figure 7: attention of the lowest layer on WikiText-2"
    columns: ClassVar[tuple[str, ...]] = (
        "layers", "seed", "iteration", "query_position", "key_position", "attention", "query_word",
        "key_word", "stripe",
    )  # fmt: skip
    picture: ClassVar[str] = "png"
    kind: Literal["fig7"]
    """Kind of the figure."""
    experiments: Names
    """Names of the experiments that are drawn."""
    seed: int | Literal["typical"]
    """Seed that is drawn; `typical` is, of each model, that of the median entropy."""
    iterations: Annotated[Updates, Field(min_length=1)]
    """Numbers of updates that are drawn."""
    words: int = Field(default=2, ge=0)
    """Number of the longest stripes of each map that have their word written beside them."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the maps of each experiment, and the dynamics by which its seeds are chosen."""
        return [(name, metric) for name in self.experiments for metric in ("maps", "dynamics")]


def table(figure: Fig7, *measured: "Measured[Any]") -> "pd.DataFrame":
    """Return one row per model, update, query and key.

    `stripe` is the number of queries that spend more than half of their attention on the key.
    """
    import pandas as pd

    maps, dynamics = (
        pd.concat([item.table for item in measured[metric::2]], ignore_index=True)
        for metric in (0, 1)
    )
    if figure.seed == "typical":
        seeds = typical_seeds(dynamics, figure.iterations[-1])
    else:
        seeds = {str(model): figure.seed for model in maps["model"].unique()}
    drawn = maps["seed"] == maps["model"].map(seeds)
    shown = maps["iteration"].isin(figure.iterations) & drawn
    order = ["layers", "iteration", "query_position", "key_position"]
    rows = maps[shown].sort_values(order, ignore_index=True)
    keys = [rows[name] for name in ("layers", "iteration", "key_position")]
    stripe = (rows["attention"] > 0.5).groupby(keys).transform("sum")
    return rows.assign(stripe=stripe)[list(figure.columns)]


def typical_seeds(dynamics: "pd.DataFrame", update: int) -> dict[str, int]:
    """Return the seed of each model whose validation entropy after an update is nearest the median.

    Of two that are as near it is the smaller one. `dynamics` has all seeds.
    """
    found = {}
    for model, runs in dynamics[dynamics["iteration"] == update].groupby("model", sort=False):
        entropy = runs.set_index("seed")["entropy"].sort_index()
        found[str(model)] = int(str((entropy - entropy.median()).abs().idxmin()))
    return found


def draw(figure: Fig7, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row of panels per number of layers, one column per number of updates.

    All panels share one colour scale, that of the square root. Rows of a panel are queries, columns
    keys; the part that the causal mask hides is grey.
    """
    from replication.figures.style import WIDTH

    depths, updates = table["layers"].unique(), table["iteration"].unique()
    side = 0.85 * WIDTH / len(updates)
    drawing, panels = make_panels(
        len(depths), len(updates), 0.45 + 0.93 * side * len(depths), sharex=True, sharey=True
    )
    for row, layers in zip(panels, depths, strict=True):
        for axes, iteration in zip(row, updates, strict=True):
            rows = table[(table["layers"] == layers) & (table["iteration"] == iteration)]
            _draw_map(axes, rows)
            _name_stripes(axes, rows, figure.words)
        seed = table.loc[table["layers"] == layers, "seed"].iloc[0]
        row[0].set_ylabel(f"{layers} layer{'s' if layers > 1 else ''}, seed {seed}\nquery position")
    for axes, iteration in zip(panels[0], updates, strict=True):
        axes.set_title(f"Iter {iteration}")
    for axes in panels[-1]:
        axes.set_xlabel("key position")
    drawing.colorbar(
        panels[0, 0].images[0], ax=panels, shrink=0.7, aspect=30, pad=0.02, label="attention",
        ticks=[0, 0.01, 0.1, 0.25, 0.5, 1],
    ).ax.set_yticklabels(["0", "0.01", "0.1", "0.25", "0.5", "1"])  # fmt: skip
    return drawing


def _draw_map(axes: "Axes", rows: "pd.DataFrame") -> None:
    import matplotlib as mpl
    from matplotlib.colors import PowerNorm

    seen = rows[rows["key_position"] <= rows["query_position"]]
    grid = seen.pivot(index="query_position", columns="key_position", values="attention")
    axes.imshow(
        grid, cmap=mpl.colormaps["viridis"].with_extremes(bad="0.92"), interpolation="nearest",
        norm=PowerNorm(0.5, vmin=0, vmax=1),
    )  # fmt: skip
    axes.set_xticks(range(0, len(grid), 10))
    axes.set_yticks(range(0, len(grid), 10))


def _name_stripes(axes: "Axes", rows: "pd.DataFrame", count: int) -> None:
    """Write the words of the longest stripes above these, on what is hidden.

    A line leads from each word down to the column of its stripe.
    """
    keys = rows.drop_duplicates("key_position").set_index("key_position")
    named: list[int] = []
    for key, stripe in keys["stripe"].sort_values(ascending=False, kind="stable").items():
        far = all(abs(int(str(key)) - other) >= APART for other in named)
        if stripe >= SHORTEST and far and len(named) < count:
            named.append(int(str(key)))
    below = float(len(keys))
    for key in sorted(named, reverse=True):
        word = (
            f"\N{LEFT DOUBLE QUOTATION MARK}{keys['key_word'][key]}\N{RIGHT DOUBLE QUOTATION MARK}"
        )
        # A word begins at its column, or further left if it would not fit within the frame.
        begin = min(float(key), len(keys) - PER_LETTER * len(word))
        row = max(min(begin - 2.5, key - 3.5, below - APART), 1.5)
        begin = max(begin, row + 1.5)
        axes.text(begin, row, word, fontsize=6.5, va="center")
        top = (float(key), key - 0.5)
        from_word = (begin, row - 0.3) if begin > key else (key, row + 1.2)
        leader = {"arrowstyle": "-", "color": "black", "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", top, from_word, arrowprops=leader)
        below = row
