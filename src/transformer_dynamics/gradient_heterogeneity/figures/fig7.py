"""Figure 7: drift and growth of heads under signs."""

from math import inf
from typing import TYPE_CHECKING, ClassVar, Literal

from replication.base.errors import InputError
from replication.figures.panels import make_panels, set_plain_ticks
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import HeadsMetricJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import Share

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

NORMS = ("common", "centred", "total")
"""Norms of V."""
FEWEST = 3
"""Smallest number of classes; with two, mean b cannot move under SignSGD."""


class Fig7(ExperimentFigure):
    """Drift of biases against batches, and norms of heads."""

    metrics: ClassVar[tuple[str, ...]] = ("heads",)
    title: ClassVar[str] = "Gradient heterogeneity, Figure 7: growth of heads"
    columns: ClassVar[tuple[str, ...]] = (
        "part", "classes", "batch", "batch_per_class", "optimiser", "beta", "seed", "drift",
        "mean_drift", "law", "bound", "norm", "length", "mean_length",
    )  # fmt: skip
    kind: Literal["fig7"]
    """Kind of the figure."""
    experiment: str = "heads"
    """Experiment of the heads."""
    beta: Share = 0.9
    """Share of Signum's average that stays at each step."""


def table(figure: Fig7, measured: Measured[HeadsMetricJob]) -> "pd.DataFrame":
    """Compute parts `drift`, `law` and `norms` of SignSGD and of Signum with one beta, in the end.

    `law` rows are for all m from 1 to twice the largest C that fits: the exact law of SignSGD at
    equal probabilities with the bound of absent classes, or the law of Signum. Lengths are those of
    V with most classes, over ||V|| at the start.
    """
    import pandas as pd

    rows = measured.table[measured.table["classes"] >= FEWEST]
    is_shown = (rows["optimiser"] == "signsgd") | (
        (rows["optimiser"] == "signum") & (rows["beta"] == figure.beta)
    )
    rows = rows[is_shown].assign(batch_per_class=rows["batch"] / rows["classes"])
    last = rows[rows["step"] == rows["step"].max()].drop(columns=["law", "bound"])
    keys = ["optimiser", "classes", "batch"]
    if last.duplicated([*keys, "seed"]).any():
        raise InputError(
            "figure fig7: two sets have as many classes, or two optimisers the same average; it"
            " cannot tell them apart"
        )
    drift = last.assign(part="drift", mean_drift=last.groupby(keys)["drift"].transform("mean"))
    start = rows[rows["step"] == 0].set_index([*keys, "seed"])["total"]
    most = last[last["classes"] == last["classes"].max()]
    norms = most.melt([*keys, "beta", "batch_per_class", "seed"], [*NORMS], "norm", "length")
    before = start.reindex(pd.MultiIndex.from_frame(norms[[*keys, "seed"]])).to_numpy()
    norms = norms.assign(part="norms", length=norms["length"] / before)
    means = norms.groupby([*keys, "norm"])["length"].transform("mean")
    found = pd.concat(
        [drift, norms.assign(mean_length=means), _laws(figure, last)], ignore_index=True
    )
    shown: pd.DataFrame = found.reindex(columns=list(figure.columns))
    return shown


def _laws(figure: Fig7, last: "pd.DataFrame") -> "pd.DataFrame":
    import numpy as np
    import pandas as pd

    from transformer_dynamics.gradient_heterogeneity.theory.drift import (
        absence_bound,
        averaged_drift,
        uniform_drift,
    )

    largest = last["batch_per_class"].max()
    rows: list[tuple[str, int, int, float, str, float, float]] = []
    for classes in sorted(last["classes"].unique().tolist()):
        shares = np.full(classes, 1 / classes)
        tried = np.unique(np.geomspace(2, largest * classes, 40).round().astype(int)).tolist()
        for batch in tried:
            size = ("law", classes, batch, batch / classes)
            exact = uniform_drift(classes, batch), absence_bound(shares, batch)
            rows.append((*size, "signsgd", *exact))
            rows.append((*size, "signum", averaged_drift(classes, batch, figure.beta), np.nan))
    columns = ["part", "classes", "batch", "batch_per_class", "optimiser", "law", "bound"]
    return pd.DataFrame(rows, columns=columns)


def draw(figure: Fig7, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw drift above, norms of the head with most classes below; SignSGD left, Signum right."""
    from replication.figures.style import curve_styles
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import OPTIMISERS, add_legend

    drawing, grid = make_panels(2, 2, 4.9, sharey="row")
    titles = {
        "signsgd": OPTIMISERS["signsgd"],
        "signum": rf"{OPTIMISERS['signum']}, $\beta={figure.beta:g}$",
    }
    classes = sorted(table["classes"].unique().tolist())
    styles = dict(curve_styles(classes))
    for (above, below), (optimiser, title) in zip(grid.T, titles.items(), strict=True):
        own = table[table["optimiser"] == optimiser]
        for number, style in styles.items():
            rows = own[own["classes"] == number]
            law, dots = rows[rows["part"] == "law"], rows[rows["part"] == "drift"]
            above.plot(
                law["batch_per_class"], law["law"], color=style.colour, linewidth=0.7, alpha=0.8
            )
            above.scatter(
                dots["batch_per_class"], dots["drift"], s=5, color=style.colour, alpha=0.3,
                linewidths=0,
            )  # fmt: skip
            mean = dots.drop_duplicates("batch").sort_values("batch")
            above.plot(
                mean["batch_per_class"], mean["mean_drift"], linestyle="none",
                marker=style.marker, color=style.colour, label=f"$C={number}$",
            )  # fmt: skip
        bound = own[(own["part"] == "law") & (own["classes"] == classes[-1])].dropna(subset="bound")
        above.plot(
            bound["batch_per_class"], bound["bound"], ":", color="0.2", linewidth=1,
            label="bound by absent classes" if optimiser == "signsgd" else None,
        )  # fmt: skip
        above.axhline(0, color="0.6", linewidth=0.6)
        above.set(xscale="log", title=title, xlabel="batch per class, $m/C$")
        above.xaxis.set_minor_formatter("")
        _draw_norms(below, own[own["part"] == "norms"])
    grid[0, 0].set_ylabel("drift of mean $b$\nper step, over the rate")
    grid[0, 0].set_ylim(top=0.5)
    grid[1, 0].set_ylabel(f"length over that of $V$\nat the start, $C={classes[-1]}$")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    grid[0, 1].legend(
        handles, labels, frameon=False, fontsize=6.5, loc="lower right", handlelength=1.5
    )
    drawing.align_ylabels(grid[:, 0])
    handles, _ = grid[1, 1].get_legend_handles_labels()
    seeds = seed_count(table["seed"])
    add_legend(drawing, handles, f"means of {seeds} (small dots); thin lines above: exact laws")
    return drawing


def _draw_norms(axes: "Axes", rows: "pd.DataFrame") -> None:
    from replication.figures.style import category_styles
    from transformer_dynamics.gradient_heterogeneity.figures.labels import HEAD_PARTS

    for norm, style in category_styles(NORMS):
        own = rows[rows["norm"] == norm]
        axes.scatter(own["batch"], own["length"], s=5, color=style.colour, alpha=0.3, linewidths=0)
        mean = own.drop_duplicates("batch").sort_values("batch")
        axes.plot(mean["batch"], mean["mean_length"], **style.look, label=HEAD_PARTS[norm])
    axes.set(xscale="log", yscale="log", xlabel="batch size $m$")
    sizes = sorted(rows["batch"].unique().tolist())
    # Sizes that stand close together have one label.
    told = [
        size for size, above in zip(sizes, [*sizes[1:], inf], strict=True) if above > 1.5 * size
    ]
    axes.set_xticks(told, [f"{size}" for size in told])
    set_plain_ticks(axes.yaxis)
    axes.minorticks_off()
