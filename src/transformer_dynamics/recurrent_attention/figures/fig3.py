"""Figure 3: accuracy against exponents of models that are changed after training."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import (
    EXPONENT_COLUMNS,
    EXPONENTS,
    SOLVED_OUT,
    ConditionsFigure,
    draw_against_exponents,
    join_tables,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Perturbed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


NOTE = (
    ", each as trained and with eta, weights or inputs changed;"
    "\nexponents: linear axis from -1 to 1, logarithmic beyond"
)
"""Note on the dots, and on the axes, which change their scale."""


class Fig3(ConditionsFigure):
    """Accuracy against exponents when eta, the weights or the inputs are changed."""

    metrics: ClassVar[tuple[str, ...]] = ("perturbed",)
    title: ClassVar[str] = "Recurrent attention, Figure 3: accuracy against exponents"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "perturbation", "factor", *EXPONENTS, "finite", "accuracy",
    )  # fmt: skip
    kind: Literal["fig3"]
    """Kind of the figure."""


def table(figure: Fig3, *measured: Measured[MetricJob[Perturbed]]) -> "pd.DataFrame":
    """Return a row per seed and change; `factor` is the value of eta where eta changes."""
    names = {"quantity": "perturbation", "value": "factor", **EXPONENT_COLUMNS}
    return join_tables(figure, measured).rename(columns=names)[list(figure.columns)]


def draw(figure: Fig3, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw accuracy over the largest exponent, and over the mean of the leading ones."""
    shown = ("max_exponent", "mean_leading")
    drawing = draw_against_exponents(table, shown, SOLVED_OUT, NOTE)
    for axes in drawing.axes:
        axes.set_xscale("symlog", linthresh=1, linscale=2)
        axes.set_xticks([-10, -1, -0.5, 0, 0.5, 1, 10, 100])
        axes.margins(x=0.05)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    return drawing
