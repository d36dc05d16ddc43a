"""Figure 1: curvature of tensors against the size of their gradients."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import wrap_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

KINDS = {
    "matrix": "matrix or kernel",
    "embedding": "embedding",
    "normalisation": "normalisation",
    "head": "head",
}
"""Kinds of tensors, and their labels."""
COLUMNS = 2
"""Number of panels in a row."""


class Fig1(ExperimentFigure):
    """A dot per tensor and seed."""

    metrics: ClassVar[tuple[str, ...]] = ("tensors",)
    title: ClassVar[str] = "Gradient heterogeneity, Figure 1: curvature against gradients"
    columns: ClassVar[tuple[str, ...]] = (
        "net", "task", "seed", "state", "batch", "tensor", "layer", "kind", "params", "norm",
        "density", "curvature",
    )  # fmt: skip
    kind: Literal["fig1"]
    """Kind of the figure."""
    experiment: str = "heterogeneity"
    """Experiment of the networks."""
    state: Literal["pretrained", "tuned"] = "pretrained"
    """State of the networks: before fine-tuning, with a random head, or after it."""


def table(figure: Fig1, measured: Measured[MeasuredMetricJob]) -> "pd.DataFrame":
    """Collect tensors with gradient and upward curvature; density is r_b = norm/sqrt(params).

    `line` rows, of kind `fit`, are the ends of log h_b = a log r_b + constant by least squares over
    all matrices of a network: their `slope` is a.
    """
    import numpy as np
    import pandas as pd

    rows = measured.table.query("state == @figure.state and curvature > 0 and norm > 0")
    rows = rows.assign(density=rows["norm"] / np.sqrt(rows["params"]), slope=np.nan)
    lines = []
    for (net, task), own in rows[rows["kind"] == "matrix"].groupby(["net", "task"], sort=False):
        r, h = np.log(own["density"].to_numpy()), np.log(own["curvature"].to_numpy())
        slope, start = np.polyfit(r, h, 1)
        ends = np.array([r.min(), r.max()])
        line = {"density": np.exp(ends), "curvature": np.exp(slope * ends + start), "slope": slope}
        told = {"net": net, "task": task, "state": figure.state, "kind": "fit"}
        lines.append(pd.DataFrame(told | line))
    found = pd.concat([rows, *lines], ignore_index=True)
    return found[[*figure.columns, "slope"]]


def draw(figure: Fig1, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per network and task, both axes logarithmic; the line is that of matrices."""
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count
    from transformer_dynamics.gradient_heterogeneity.figures.labels import (
        add_legend,
        marker_handle,
        network_label,
    )

    panels = list(table.groupby(["net", "task"], sort=False))
    drawing, grid = wrap_panels(len(panels), COLUMNS, 1.75, 0.9, sharex=True, sharey=True)
    styles = dict(category_styles(KINDS))
    for axes, ((net, task), own) in zip(grid.flat, panels, strict=False):
        for kind, style in styles.items():
            rows = own[own["kind"] == kind]
            axes.scatter(
                rows["density"], rows["curvature"], s=7, color=style.colour, marker=style.marker,
                alpha=0.55, linewidths=0,
            )  # fmt: skip
        fit = own[own["kind"] == "fit"]
        axes.plot(fit["density"], fit["curvature"], color="0.2", linewidth=0.8)
        axes.set(xscale="log", yscale="log", title=network_label(str(net), str(task)))
        if len(fit):
            slope = f"slope $a={fit['slope'].iloc[0]:.2f}$"
            axes.text(0.95, 0.06, slope, ha="right", transform=axes.transAxes, fontsize=7)
    for axes in grid[:, 0]:
        axes.set_ylabel("curvature $h_b$")
    for axes in grid.flat[max(len(panels) - COLUMNS, 0) : len(panels)]:
        axes.set_xlabel(r"gradient $r_b=\Vert g_b\Vert/\sqrt{P_b}$")
        axes.tick_params(labelbottom=True)
    handles = [marker_handle(KINDS[kind], style) for kind, style in styles.items()]
    seeds = seed_count(table["seed"])
    add_legend(drawing, handles, f"a dot per tensor, {seeds}; line: fit to matrices or kernels")
    return drawing
