"""Figure 4, and random weights: transformers that differ in the place of normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import make_panels, set_plain_ticks
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    INITIAL,
    MASKED,
    PRETRAINED,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from replication.figures.style import Style

SPREADS = {
    "gini_norm": r"Gini of $\Vert g_b\Vert$",
    "gini_density": "Gini of $r_b$",
    "log_spread": r"sd of $\log r_b$",
    "layer_log_spread": "sd of log length\nof a layer's $g$",
}
METRICS = {
    "fig4": SPREADS | {"ratio": r"$\Lambda_G/\Lambda_P$" "\n(curvatures)"},
    "random_weights": SPREADS,
    "scaled_pairs": SPREADS,
}
"""Labels of metrics, from above, by kind of figure."""
OPTIMISERS = {"adam": "Adam", "sgd_momentum": "SGD-m", "signum": "Signum"}
STATES = {INITIAL: "random", MASKED: "masked\nwords", PRETRAINED: "new\nhead"}
"""Labels of states; others have that of an optimiser."""


class Fig4(ExperimentFigure):
    """Spreads of matched pairs."""

    metrics: ClassVar[tuple[str, ...]] = ("spread",)
    title: ClassVar[str] = "Gradient heterogeneity: Post-LN and Pre-LN"
    columns: ClassVar[tuple[str, ...]] = (
        "column", "name", "place", "ln", "depth", "gain", "state", "seed", "metric", "value",
        "mean", "median",
    )  # fmt: skip
    kind: Literal["fig4", "random_weights", "scaled_pairs"]
    """Kind of the figure: along training, random weights of several scales and depths, or along
    training from several scales."""
    experiment: str = "pairs"
    """Experiment of the networks."""


def table(figure: Fig4, measured: Measured[MeasuredMetricJob]) -> "pd.DataFrame":
    """Collect all tensors but biases: a row per metric, network, state and seed.

    `mean` and `median` are over seeds.

    `gain` is the standard deviation of random matrices, 0 for PyTorch's own. `column` is the depth
    of networks that are trained, the gain of random weights, or both; `place` is where a row stands
    in it, and `name` what stands below.
    """
    rows = measured.table
    rows = rows[(rows["set"] == "all") & rows["metric"].isin([*METRICS[figure.kind]])]
    rows = rows.rename(columns={"deviation": "gain"})
    depth = rows["depth"].astype(str)
    scales = rows["gain"].map(lambda sd: f"sd {sd:g}" if sd else "PyTorch")
    if figure.kind == "random_weights":
        rows = rows.assign(column=scales, name="$L$=" + depth)[rows["state"] == INITIAL]
    else:
        columns = "depth " + depth + ("\n" + scales if figure.kind == "scaled_pairs" else "")
        names = rows["state"].map(lambda name: STATES.get(name, OPTIMISERS.get(name, name)))
        rows = rows.assign(column=columns, name=names)
        rows = rows[rows.groupby("arm")["state"].transform("nunique") > 1]
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
    rows = rows.assign(place=places, mean=same.transform("mean"), median=same.transform("median"))
    return rows[list(figure.columns)]


def without_new_head(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of all states except that of a new head, which reuses rows of an old one."""
    return table[table["state"] != PRETRAINED]


def draw(figure: Fig4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw metrics in rows; columns are depths of trained networks, or scales of random weights.

    Seeds of one network may be in two groups: a bar is their median, which lies in one of them.
    """
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        PLACEMENTS,
        add_legend,
        marker_handle,
    )

    table = without_new_head(table)
    # Marks close the gap of the state that is left out.
    centre = table.groupby("column")["place"].transform(
        lambda own: own.round().rank(method="dense")
    )
    table = table.assign(place=centre - 1 + table["place"] - table["place"].round())
    metrics, columns = METRICS[figure.kind], list(dict.fromkeys(table["column"]))
    widths = [table[table["column"] == name]["place"].round().nunique() for name in columns]
    drawing, grid = make_panels(
        len(metrics), len(columns), 1.1 + 1.25 * len(metrics), sharex="col", sharey="row",
        width_ratios=widths,
    )  # fmt: skip
    styles = dict(category_styles(PLACEMENTS))
    for line, (metric, label) in zip(grid, metrics.items(), strict=True):
        line[0].set_ylabel(label)
        for axes, column in zip(line, columns, strict=True):
            rows = table[(table["column"] == column) & (table["metric"] == metric)]
            _draw_pairs(axes, rows, styles)
            if metric == "ratio":
                axes.set_yscale("log")
                set_plain_ticks(axes.yaxis)
                axes.text(
                    0.4, 0.5, "measured only\nafter fine-tuning", ha="center", va="center",
                    fontsize=7, color="0.4", transform=axes.transAxes,
                )  # fmt: skip
    for axes, column in zip(grid[-1], columns, strict=True):
        own = table[table["column"] == column]
        labels = dict(zip(own["place"].round().to_list(), own["name"], strict=True))
        axes.set_xticks(sorted(labels), [labels[place] for place in sorted(labels)])
        axes.set_xlim(min(labels) - 0.5, max(labels) + 0.5)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(f"matrices:\n{column}" if figure.kind == "random_weights" else column)
    drawing.align_ylabels(grid[:, 0])
    handles = [marker_handle(PLACEMENTS[ln], style) for ln, style in styles.items()]
    add_legend(drawing, handles, f"a mark per seed, {seed_count(table['seed'])}; bars are medians")
    return drawing


def _draw_pairs(axes: "Axes", rows: "pd.DataFrame", styles: "dict[str, Style]") -> None:
    """Draw the seeds of both placements side by side, and their medians."""
    for ln, style in styles.items():
        own = rows[rows["ln"] == ln]
        axes.scatter(
            own["place"], own["value"], s=12, color=style.colour, marker=style.marker, alpha=0.45,
            linewidths=0,
        )  # fmt: skip
        median = own.drop_duplicates("place")
        axes.scatter(median["place"], median["median"], s=90, color="0.1", marker="_")
