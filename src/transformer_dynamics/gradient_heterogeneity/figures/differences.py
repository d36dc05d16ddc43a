"""Differences between optimisers and between placements: SGD minus Adam, Post-LN minus Pre-LN."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.figures.fig4 import (
    SPREADS,
    STATES,
    without_new_head,
)
from transformer_dynamics.gradient_heterogeneity.settings.networks import Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LOSS, *GINIS = "loss", "gini_norm", "gini_density"
"""Quantities: loss of SGD-m minus that of Adam, and Ginis of Post-LN minus those of Pre-LN."""
KEYS = ("quantity", "name", "task", "clip", "batch", "depth", "state")
"""Columns of which each row of the picture has its own values."""


class Differences(Figure):
    """Differences by seed, with their means and intervals."""

    title: ClassVar[str] = "Gradient heterogeneity: SGD minus Adam, Post-LN minus Pre-LN"
    columns: ClassVar[tuple[str, ...]] = (
        "quantity", "name", "task", "clip", "batch", "depth", "state", "seed", "value", "mean",
        "lower", "upper",
    )  # fmt: skip
    kind: Literal["differences"]
    """Kind of the figure."""
    trained: Annotated[list[str], Field(min_length=1)] = [
        "optimisers_again",
        "full_batch_again",
        "optimisers_vision",
    ]
    """Experiments with SGD-m and Adam, on seeds that planned nothing."""
    pairs: str = "pairs"
    """Experiment of transformers that differ in the place of normalisation."""
    margin: Share = 0.05
    """Smallest difference of losses that matters, as in claims."""
    confidence: Share = 0.95
    """Confidence of intervals."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the losses of all experiments, then the inequality of gradients of pairs."""
        return [*((name, "endpoint") for name in self.trained), (self.pairs, "spread")]


def table(figure: Differences, *measured: Measured[Any]) -> "pd.DataFrame":
    """Return a difference per row and seed, with means and t intervals over seeds.

    `loss` is that of a fixed part of the training samples after the last step over ln C; lost
    training counts as chance. Ginis are those of all tensors but biases.
    """
    import pandas as pd

    from replication.judge.statistics import add_intervals

    *trained, pairs = measured
    losses = [part for each in trained for part in _loss_gaps(each.table)]
    found = pd.concat([*losses, placement_gaps(pairs.table)], ignore_index=True)
    found = add_intervals(found, KEYS, figure.confidence)
    return found.reindex(columns=list(figure.columns))


def _loss_gaps(table: "pd.DataFrame") -> "Iterator[pd.DataFrame]":
    """Yield the final loss of SGD-m minus that of Adam of each case, by seed."""
    from transformer_dynamics.gradient_heterogeneity.claims.optimisers import end_gaps

    for case, gap in end_gaps(table).items():
        first = table[table["case"] == case].iloc[0]
        told = {name: first[name] for name in ("task", "clip", "batch")}
        rows = gap.rename("value").reset_index()
        yield rows.assign(quantity=LOSS, name=first["net"], **told)


def placement_gaps(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return Ginis of Post-LN minus those of Pre-LN of trained networks, by depth, state and seed.

    The table has the columns ln, depth, deviation, state, seed, metric, value and set.
    """
    rows = table[(table["set"] == "all") & table["metric"].isin(GINIS)]
    rows = rows[rows.groupby(["depth", "deviation"])["state"].transform("nunique") > 1]
    keys = ["metric", "depth", "deviation", "state", "seed"]
    wide = rows.pivot(index=keys, columns="ln", values="value")
    gaps = (wide["post"] - wide["pre"]).rename("value").reset_index()
    order = {state: place for place, state in enumerate(dict.fromkeys(rows["state"]))}
    gaps = gaps.assign(place=gaps["state"].map(order))
    gaps = gaps.sort_values(
        ["metric", "depth", "deviation", "place", "seed"], ascending=[False, *[True] * 4]
    )
    return gaps.rename(columns={"metric": "quantity"}).assign(
        name="depth " + gaps["depth"].astype(str)
    )


def draw(figure: Differences, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw losses above, Ginis below, a row per case: seeds, their mean and its interval."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import add_legend

    table = without_new_head(table)
    rows = [len(_rows(table[table["quantity"] == name])) for name in (LOSS, GINIS[0])]
    drawing = plt.figure(figsize=(WIDTH, 1.5 + 0.2 * sum(rows)), layout="constrained")
    grid = drawing.add_gridspec(2, 2, height_ratios=rows)
    above = drawing.add_subplot(grid[0, :])
    left = drawing.add_subplot(grid[1, 0])
    right = drawing.add_subplot(grid[1, 1], sharey=left, sharex=left)
    above.axvspan(-figure.margin, figure.margin, color="0.9", linewidth=0, zorder=0)
    for axes, quantity in zip((above, left, right), (LOSS, *GINIS), strict=True):
        _draw_forest(axes, table[table["quantity"] == quantity])
    right.tick_params(labelleft=False)
    above.set_xlabel("final training loss over that of chance, SGD-m minus Adam")
    for axes, quantity in zip((left, right), GINIS, strict=True):
        axes.set_xlabel(f"{SPREADS[quantity]},\nPost-LN minus Pre-LN")
    losses, ginis = (
        seed_count(table.loc[table["quantity"] == name, "seed"]) for name in (LOSS, GINIS[0])
    )
    percent = f"{100 * figure.confidence:g} %"
    title = (
        f"dots: {losses} above, {ginis} below; bars: mean with {percent} t interval;\n"
        f"shaded: less than the {figure.margin:g} that matters"
    )
    add_legend(drawing, [], title)
    return drawing


def _rows(table: "pd.DataFrame") -> "list[tuple[str, pd.DataFrame]]":
    """Return label and seeds of each row of a forest."""
    from transformer_dynamics.gradient_heterogeneity.figures.labels import OPTIMISERS, network_label

    found = []
    keys = ["name", "task", "clip", "batch", "state"]
    for (name, task, clip, batch, state), own in table.groupby(keys, dropna=False, sort=False):
        if isinstance(state, str):
            told = STATES.get(state, f"after {OPTIMISERS.get(state, state)}").replace("\n", " ")
            label = f"{name}, {told}"
        else:
            label = network_label(str(name), str(task))
            label += ", full batch" if batch == 0 else ", not clipped" if clip == 0 else ""
        found.append((label, own))
    return found


def _draw_forest(axes: "Axes", table: "pd.DataFrame") -> None:
    """Draw a row per case from above, with dots of seeds, a mark at the mean and its interval."""
    from replication.figures.style import CATEGORIES

    axes.axvline(0, color="0.4", linewidth=0.7, zorder=0)
    rows = _rows(table)
    for place, (_, own) in enumerate(rows):
        axes.scatter(
            own["value"], [place] * len(own), s=8, color=CATEGORIES[0], alpha=0.5, linewidths=0
        )
        first = own.iloc[0]
        axes.plot([first["lower"], first["upper"]], [place, place], color="0.1", linewidth=1.2)
        axes.plot([first["mean"]], [place], "|", color="0.1", markersize=8, markeredgewidth=1.6)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
