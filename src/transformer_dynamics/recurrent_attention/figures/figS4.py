"""Figure S.4: all exponents of trained models."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    OfConditions,
    beside,
    called,
)
from transformer_dynamics.recurrent_attention.measure_settings import Distribution, MeasureJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class FigS4(OfConditions):
    """Exponents of one run of several models, in descending order."""

    metrics: ClassVar[tuple[str, ...]] = ("distribution",)
    title: ClassVar[str] = "Recurrent attention, Figure S.4: distribution of Lyapunov exponents"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "board", "index", "share", "exponent",
    )  # fmt: skip
    drawing: Literal["figS4"]
    """Which drawing."""
    seed: Seed
    """Which run."""
    board: int = 0
    """Which board."""


def table(figure: FigS4, *measured: Measured[MeasureJob[Distribution]]) -> "pd.DataFrame":
    """All exponents that are not null; `share` of them are larger, half of its own counted."""
    whole = beside(figure, measured)
    rows = whole[(whole["seed"] == figure.seed) & (whole["board"] == figure.board)]
    count = rows.groupby("model")["index"].transform("size")
    return rows.assign(share=(rows["index"] + 0.5) / count)[list(figure.columns)]


def draw(figure: FigS4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """A curve per model: the exponents over the share that is larger."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH, category_styles

    drawing, axes = plt.subplots(figsize=(WIDTH, 2.8), layout="constrained")
    for model, style in category_styles(table["model"].unique()):
        rows = table[table["model"] == model]
        axes.plot(
            rows["exponent"], rows["share"], color=style.colour, linestyle=style.line,
            label=called(model),
        )  # fmt: skip
    axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
    axes.set(
        xlabel=r"Lyapunov exponent $\lambda$", ylabel=r"Share of exponents above $\lambda$",
        ylim=(-0.02, 1.02),
    )  # fmt: skip
    axes.legend(frameon=False)
    return drawing
