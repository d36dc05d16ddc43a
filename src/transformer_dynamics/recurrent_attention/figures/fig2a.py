"""Figure 2a: the largest exponent against the step size, with and without normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    OfConditions,
    beside,
    called,
)
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Perturbed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2a(OfConditions):
    """The largest exponent of trained models whose eta is changed."""

    metrics: ClassVar[tuple[str, ...]] = ("perturbed",)
    title: ClassVar[str] = "Recurrent attention, Figure 2a: largest exponent against the step size"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "eta", "exponent", "exponent_std", "finite", "float32_finite", "n_seeds",
    )  # fmt: skip
    drawing: Literal["fig2a"]
    """Which drawing."""


def table(figure: Fig2a, *measured: Measured[MeasureJob[Perturbed]]) -> "pd.DataFrame":
    """Mean and standard deviation over seeds at every eta.

    `finite` and `float32_finite` are the shares of seeds whose exponents these types can hold;
    means are of the former.
    """
    rows = beside(figure, measured).query("quantity == 'eta'").rename(columns={"value": "eta"})
    return rows.groupby(["model", "eta"], sort=False, as_index=False).agg(
        exponent=("max", "mean"),
        exponent_std=("max", "std"),
        finite=("finite", "mean"),
        float32_finite=("float32_finite", "mean"),
        n_seeds=("seed", "nunique"),
    )


def draw(figure: Fig2a, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A curve per model; hollow where float32 does not hold alpha_1 of all seeds."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, axes = plt.subplots(figsize=(WIDTH, 2.8), layout="constrained")
    for model, style in category_styles(table["model"].unique()):
        rows = table[table["model"] == model]
        axes.errorbar(
            rows["eta"], rows["exponent"], rows["exponent_std"], color=style.colour,
            linestyle=style.line, marker=style.marker, markerfacecolor="white", capsize=2,
            elinewidth=0.8,
        )  # fmt: skip
        held = rows[rows["float32_finite"] == 1]
        axes.plot(
            held["eta"], held["exponent"], color=style.colour, linestyle="none",
            marker=style.marker, zorder=3,
        )  # fmt: skip
        axes.plot(
            [], [], color=style.colour, linestyle=style.line, marker=style.marker,
            label=called(model),
        )  # fmt: skip
    axes.plot(
        [], [], color="black", linestyle="none", marker="o", markerfacecolor="white",
        label="beyond float32",
    )  # fmt: skip
    axes.axhline(0, color="0.5", linewidth=0.6, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.5, linscale=1.5)
    axes.set(xlabel=r"Step size $\eta$", ylabel="Largest Lyapunov exponent")
    axes.set_yticks([-2, -0.5, -0.25, 0, 0.25, 0.5, 2, 10, 50])
    axes.margins(y=0.06)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.legend(frameon=False)
    return drawing
