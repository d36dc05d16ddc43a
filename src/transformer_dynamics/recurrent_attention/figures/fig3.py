"""Figure 3: accuracy against exponents of models that are changed after training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    OfConditions,
    beside,
    called,
)
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Perturbed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

EXPONENTS = {
    "max_exponent": "Largest exponent",
    "mean_leading": "Mean of the leading exponents",
}
"""Columns and what their axes are called."""


class Fig3(OfConditions):
    """Accuracy against exponents when eta, the weights or the inputs are changed."""

    metrics: ClassVar[tuple[str, ...]] = ("perturbed",)
    title: ClassVar[str] = "Recurrent attention, Figure 3: accuracy against exponents"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "perturbation", "factor", "max_exponent", "mean_leading", "mean_nonnull",
        "finite", "accuracy",
    )  # fmt: skip
    drawing: Literal["fig3"]
    """Which drawing."""


def table(figure: Fig3, *measured: Measured[MeasureJob[Perturbed]]) -> "pd.DataFrame":
    """A row per seed and change; `factor` is the value of eta where that is what changes."""
    names = {
        "quantity": "perturbation", "value": "factor", "max": "max_exponent",
        "leading": "mean_leading", "nonnull": "mean_nonnull",
    }  # fmt: skip
    return beside(figure, measured).rename(columns=names)[list(figure.columns)]


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Left over the largest exponent, right over the mean of the leading ones."""
    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH, category_styles

    drawing, panels = plt.subplots(1, 2, figsize=(WIDTH, 2.9), sharey=True, layout="constrained")
    for axes, (column, label) in zip(panels, EXPONENTS.items(), strict=True):
        for model, style in category_styles(table["model"].unique()):
            rows = table[table["model"] == model]
            axes.scatter(
                rows[column], rows["accuracy"], s=9, color=style.colour, marker=style.marker,
                alpha=0.6, linewidths=0, label=called(model),
            )  # fmt: skip
        axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
        axes.set_xscale("symlog", linthresh=1, linscale=2)
        axes.set_xticks([-10, -1, -0.5, 0, 0.5, 1, 10, 100])
        axes.margins(x=0.05)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlabel(label)
    panels[0].set_ylabel("Solved boards, out of distribution")
    drawing.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", frameon=False,
        ncols=len(figure.conditions),
    )  # fmt: skip
    return drawing
