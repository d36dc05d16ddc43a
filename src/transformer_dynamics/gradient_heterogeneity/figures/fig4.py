"""Figure 4: transformers that differ in nothing but the place of normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Figure, Measured
from transformer_dynamics.gradient_heterogeneity.measured_settings import MeasuredRuns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

METRICS = {
    "gini_norm": r"Gini of $\Vert g_b\Vert$",
    "log_spread": r"sd of $\log r_b$",
    "layer_log_spread": "sd of log\nlayer norm",
    "ratio": r"$\Lambda_G/\Lambda_P$",
}
"""What is drawn, from above."""
PLACEMENTS = {"post": "Post-LN", "pre": "Pre-LN"}
OPTIMISERS = {"adam": "Adam", "sgd_momentum": "SGD-m", "signum": "Signum"}
STATES = {"initial": "random", "masked": "masked\nwords", "pretrained": "new\nhead"}
"""What states are called; others are by name of an optimiser."""


class Fig4(Figure):
    """Spreads of matched pairs."""

    title: ClassVar[str] = "Gradient heterogeneity, Figure 4: Post-LN and Pre-LN"
    columns: ClassVar[tuple[str, ...]] = (
        "column", "place", "ln", "depth", "gain", "state", "seed", "metric", "value", "mean",
    )  # fmt: skip
    drawing: Literal["fig4"]
    """Which drawing."""
    experiment: str = "pairs"
    """Whose networks."""

    def sources(self) -> list[tuple[str, str]]:
        """How unequal tensors are."""
        return [(self.experiment, "spread")]


def table(figure: Fig4, measured: Measured[MeasuredRuns]) -> "pd.DataFrame":
    """Of all tensors but biases, a row per metric, network, state and seed, with means over seeds.

    `gain` is the standard deviation of random matrices, 0 for PyTorch's own. `column` is `random`
    for networks that are not trained, otherwise the depth; `place` is where a row stands in it.
    """
    rows = measured.table
    rows = rows[(rows["set"] == "all") & rows["metric"].isin([*METRICS])]
    rows = rows.rename(columns={"deviation": "gain"})
    is_trained = rows.groupby("arm")["state"].transform("nunique") > 1
    rows = rows.assign(column=("depth " + rows["depth"].astype(str)).where(is_trained, "random"))
    names = _names(rows)
    order = {
        column: {name: place for place, name in enumerate(dict.fromkeys(names[part.index]))}
        for column, part in rows.groupby("column")
    }
    places = [
        order[column][name] + (-0.17 if ln == "post" else 0.17)
        for column, name, ln in zip(rows["column"], names, rows["ln"], strict=True)
    ]
    same = rows.groupby(["arm", "state", "metric"])["value"]
    return rows.assign(place=places, mean=same.transform("mean"))[list(figure.columns)]


def _names(rows: "pd.DataFrame") -> "pd.Series[str]":
    """What stands below a place."""
    gain = rows["gain"].map(lambda sd: f"{sd:g}" if sd else "PyTorch")
    random = "$L$=" + rows["depth"].astype(str) + "\n" + gain
    state = rows["state"].map(lambda name: STATES.get(name, OPTIMISERS.get(name, name)))
    return random.where(rows["column"] == "random", state)


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Rows are metrics; left random weights, then along the training of each depth."""
    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH, category_styles

    columns = sorted(table["column"].unique(), key=lambda name: (name != "random", len(name), name))
    widths = [table[table["column"] == name]["place"].round().nunique() for name in columns]
    drawing, grid = plt.subplots(
        len(METRICS), len(columns), figsize=(WIDTH, 6.2), sharex="col", sharey="row",
        squeeze=False, width_ratios=widths, layout="constrained",
    )  # fmt: skip
    styles = dict(category_styles(PLACEMENTS))
    for line, (metric, label) in zip(grid, METRICS.items(), strict=True):
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
        names = _names(own).to_list()
        labels = dict(zip(own["place"].round().to_list(), names, strict=True))
        axes.set_xticks(sorted(labels), [labels[place] for place in sorted(labels)], rotation=60)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title("random weights" if column == "random" else f"{column}, trained")
    handles, labels = grid[0, -1].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return drawing
