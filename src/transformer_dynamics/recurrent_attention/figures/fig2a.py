"""Figure 2a: the largest exponent against the step size, with and without normalisation."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    ConditionsFigure,
    condition_label,
    condition_styles,
    join_tables,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Perturbed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class Fig2a(ConditionsFigure):
    """The largest exponent of trained models whose eta is changed."""

    metrics: ClassVar[tuple[str, ...]] = ("perturbed",)
    title: ClassVar[str] = "Recurrent attention, Figure 2a: largest exponent against the step size"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "eta", "exponent", "exponent_std", "finite", "float32_finite", "n_seeds",
    )  # fmt: skip
    kind: Literal["fig2a"]
    """Kind of the figure."""


def table(figure: Fig2a, *measured: Measured[MetricJob[Perturbed]]) -> "pd.DataFrame":
    """Return the mean and standard deviation over seeds at every eta.

    `finite` and `float32_finite` are the shares of seeds whose exponents these types can hold;
    means are of the former.
    """
    rows = join_tables(figure, measured).query("quantity == 'eta'").rename(columns={"value": "eta"})
    return rows.groupby(["model", "eta"], sort=False, as_index=False).agg(
        exponent=("max", "mean"),
        exponent_std=("max", "std"),
        finite=("finite", "mean"),
        float32_finite=("float32_finite", "mean"),
        n_seeds=("seed", "nunique"),
    )


def draw(figure: Fig2a, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a curve per model; hollow where float32 does not hold alpha_1 of all seeds."""
    from replication.figures.typeset import count_in_words

    drawing, [[axes]] = make_panels(1, 1, 3.0)
    for model, style in condition_styles(table["model"].unique()).items():
        rows = table[table["model"] == model]
        look = style.look
        bars = {"markerfacecolor": "white", "capsize": 2, "elinewidth": 0.8}
        axes.errorbar(rows["eta"], rows["exponent"], rows["exponent_std"], **look, **bars)
        held = rows[rows["float32_finite"] == 1]
        axes.plot(held["eta"], held["exponent"], **look | {"linestyle": "none"}, zorder=3)
        axes.plot([], [], label=condition_label(model), **look)
    hollow = {"linestyle": "none", "marker": "o", "markerfacecolor": "white"}
    axes.plot([], [], color="black", label="beyond float32", **hollow)
    axes.axhline(0, color="0.5", linewidth=0.6, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.5, linscale=1.5)
    axes.set(xlabel=r"Step size $\eta$", ylabel="Largest Lyapunov exponent")
    axes.set_yticks([-2, -0.5, -0.25, 0, 0.25, 0.5, 2, 10, 50])
    axes.margins(y=0.06)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.legend(frameon=False)
    legend_below(
        drawing,
        [],
        f"means of {count_in_words(table['n_seeds'], 'seed')};"
        " bars: \N{PLUS-MINUS SIGN}1 sd over seeds;"
        "\nexponents: linear axis from -0.5 to 0.5, logarithmic beyond",
    )
    return drawing
