"""Figure 3: cost of heterogeneity to gradient descent, and to signs."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

NUMBERS = ["lambda_g", "lambda_p", "kappa", "ratio", "advantage", "slope"]
"""Metrics of curvatures."""


class Fig3(ExperimentFigure):
    """Lambda_G/Lambda_P against kappa."""

    metrics: ClassVar[tuple[str, ...]] = ("spread",)
    title: ClassVar[str] = "Gradient heterogeneity, Figure 3: curvature that steps see"
    columns: ClassVar[tuple[str, ...]] = ("net", "task", "seed", "state", "set", *NUMBERS)
    kind: Literal["fig3"]
    """Kind of the figure."""
    experiment: str = "heterogeneity"
    """Experiment of the networks."""


def table(figure: Fig3, measured: Measured[MeasuredMetricJob]) -> "pd.DataFrame":
    """Collect a row per network, task, seed, state and set, means over batches.

    Rows with the set `line` are where both best steps gain the same, kappa times ratio = 1.
    """
    import numpy as np
    import pandas as pd

    keys = ["net", "task", "seed", "state", "set"]
    rows = measured.table[measured.table["metric"].isin(NUMBERS)]
    wide = rows.pivot(index=keys, columns="metric", values="value").reindex(columns=NUMBERS)
    wide = wide.dropna(subset="ratio")
    # In the order in which they are measured, so that styles are those of other figures.
    names = list(dict.fromkeys(zip(rows["net"], rows["task"], strict=True)))
    wide = wide.reset_index()
    place = [names.index(name) for name in zip(wide["net"], wide["task"], strict=True)]
    found = wide.assign(place=place).sort_values(["place", "seed", "state"], kind="stable")
    kappa = np.geomspace(0.8 * found["kappa"].min(), 1, 2)
    if found.empty:
        return found.reindex(columns=list(figure.columns))
    line = pd.DataFrame({"set": "line", "kappa": kappa, "ratio": 1 / kappa, "advantage": 1.0})
    return pd.concat([found, line], ignore_index=True)[list(figure.columns)]


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw all tensors left, matrices right; full marks before fine-tuning, hollow ones after."""
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        SETS,
        add_legend,
        marker_handle,
        network_label,
    )

    dots = table[table["set"] != "line"]
    line = table[table["set"] == "line"]
    names = list(dict.fromkeys(zip(dots["net"], dots["task"], strict=True)))
    styles = dict(category_styles(names))
    drawing, [row] = make_panels(1, 2, 3.4, sharex=True, sharey=True)
    for axes, (chosen, title) in zip(row, SETS.items(), strict=True):
        axes.plot(line["kappa"], line["ratio"], color="0.3", linewidth=0.8)
        axes.axhline(1, color="0.6", linewidth=0.6, linestyle=":")
        for net, task in names:
            style = styles[net, task]
            own = dots[(dots["net"] == net) & (dots["task"] == task) & (dots["set"] == chosen)]
            for state, face in (("pretrained", style.colour), ("tuned", "none")):
                part = own[own["state"] == state]
                axes.scatter(
                    part["kappa"], part["ratio"], s=14, marker=style.marker, facecolors=face,
                    edgecolors=style.colour, linewidths=0.8,
                )  # fmt: skip
        axes.set(
            xscale="log", yscale="log", title=title, xlabel=r"density of the gradient $\kappa$"
        )
    row[0].set_ylabel("curvature that SGD sees\n" r"over that of signs, $\Lambda_G/\Lambda_P$")
    row[1].text(
        0.97, 0.95, "above the line the best\nstep by signs gains more", ha="right", va="top",
        fontsize=7, transform=row[1].transAxes,
    )  # fmt: skip
    handles = [marker_handle(network_label(*name), style) for name, style in styles.items()]
    grey = next(iter(styles.values()))._replace(colour=(0.3, 0.3, 0.3))
    handles += [
        marker_handle("before fine-tuning", grey),
        marker_handle("after fine-tuning", grey, markerfacecolor="white"),
    ]
    add_legend(drawing, handles, f"a mark per seed, {seed_count(dots['seed'])}", ncols=3)
    return drawing
