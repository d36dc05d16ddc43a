"""Figure 4, and random weights: transformers that differ in the place of normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    INITIAL,
    MASKED,
    PRETRAINED,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

SPREADS = {
    "gini_norm": r"Gini of $\Vert g_b\Vert$",
    "gini_density": "Gini of $r_b$",
    "log_spread": r"sd of $\log r_b$",
    "layer_log_spread": "sd of log\nlayer norm",
}
METRICS = {
    "fig4": SPREADS | {"ratio": r"$\Lambda_G/\Lambda_P$"},
    "random_weights": SPREADS,
}
"""Labels of metrics, from above, by kind of figure."""
PLACEMENTS = {"post": "Post-LN", "pre": "Pre-LN"}
OPTIMISERS = {"adam": "Adam", "sgd_momentum": "SGD-m", "signum": "Signum"}
STATES = {INITIAL: "random", MASKED: "masked\nwords", PRETRAINED: "new\nhead"}
"""Labels of states; others have that of an optimiser."""


class Fig4(Figure):
    """Spreads of matched pairs."""

    title: ClassVar[str] = "Gradient heterogeneity: Post-LN and Pre-LN"
    columns: ClassVar[tuple[str, ...]] = (
        "column", "name", "place", "ln", "depth", "gain", "state", "seed", "metric", "value",
        "mean",
    )  # fmt: skip
    kind: Literal["fig4", "random_weights"]
    """Kind of the figure: along training, or random weights of several scales and depths."""
    experiment: str = "pairs"
    """Experiment of the networks."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the metric of inequality."""
        return [(self.experiment, "spread")]


def table(figure: Fig4, measured: Measured[MeasuredMetricJob]) -> "pd.DataFrame":
    """Collect all tensors but biases: a row per metric, network, state and seed, with means.

    `gain` is the standard deviation of random matrices, 0 for PyTorch's own. `column` is the depth
    of networks that are trained, and the gain of random weights; `place` is where a row stands in
    it, and `name` what stands below.
    """
    rows = measured.table
    rows = rows[(rows["set"] == "all") & rows["metric"].isin([*METRICS[figure.kind]])]
    rows = rows.rename(columns={"deviation": "gain"})
    depth, gain = rows["depth"].astype(str), rows["gain"]
    if figure.kind == "fig4":
        names = rows["state"].map(lambda name: STATES.get(name, OPTIMISERS.get(name, name)))
        rows = rows.assign(column="depth " + depth, name=names)
        rows = rows[rows.groupby("arm")["state"].transform("nunique") > 1]
    else:
        scales = gain.map(lambda sd: f"sd {sd:g}" if sd else "PyTorch")
        rows = rows.assign(column=scales, name="$L$=" + depth)[rows["state"] == INITIAL]
    rows = rows.sort_values(["gain", "depth"], kind="stable")
    order = {
        column: {name: place for place, name in enumerate(dict.fromkeys(part["name"]))}
        for column, part in rows.groupby("column")
    }
    places = [
        order[column][name] + (-0.17 if ln == "post" else 0.17)
        for column, name, ln in zip(rows["column"], rows["name"], rows["ln"], strict=True)
    ]
    same = rows.groupby(["arm", "state", "metric"])["value"]
    return rows.assign(place=places, mean=same.transform("mean"))[list(figure.columns)]


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw metrics in rows; columns are depths of trained networks, or scales of random weights."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    metrics, columns = METRICS[figure.kind], list(dict.fromkeys(table["column"]))
    widths = [table[table["column"] == name]["place"].round().nunique() for name in columns]
    drawing, grid = plt.subplots(
        len(metrics), len(columns), figsize=(WIDTH, 0.8 + 1.3 * len(metrics)), sharex="col",
        sharey="row", squeeze=False, width_ratios=widths, layout="constrained",
    )  # fmt: skip
    styles = dict(category_styles(PLACEMENTS))
    for line, (metric, label) in zip(grid, metrics.items(), strict=True):
        line[0].set_ylabel(label)
        for axes, column in zip(line, columns, strict=True):
            rows = table[(table["column"] == column) & (table["metric"] == metric)]
            for ln, style in styles.items():
                own = rows[rows["ln"] == ln]
                axes.scatter(
                    own["place"], own["value"], s=6, color=style.colour, alpha=0.4, linewidths=0
                )
                mean = own.drop_duplicates("place")
                axes.plot(
                    mean["place"], mean["mean"], linestyle="none", marker=style.marker,
                    color=style.colour, label=PLACEMENTS[ln],
                )  # fmt: skip
            if metric == "ratio":
                axes.set_yscale("log")
                axes.axhline(1, color="0.6", linewidth=0.6, linestyle=":", zorder=0)
    for axes, column in zip(grid[-1], columns, strict=True):
        own = table[table["column"] == column]
        labels = dict(zip(own["place"].round().to_list(), own["name"], strict=True))
        axes.set_xticks(sorted(labels), [labels[place] for place in sorted(labels)], rotation=60)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(column)
    handles, labels = grid[0, -1].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return drawing
