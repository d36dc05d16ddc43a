"""Figure S.4: all exponents of trained models."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import (
    ConditionsFigure,
    condition_label,
    condition_styles,
    join_tables,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Distribution, MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing


class FigS4(ConditionsFigure):
    """Exponents of one run of several models, in descending order."""

    metrics: ClassVar[tuple[str, ...]] = ("distribution",)
    title: ClassVar[str] = "Recurrent attention, Figure S.4: distribution of Lyapunov exponents"
    columns: ClassVar[tuple[str, ...]] = (
        "model", "seed", "board", "index", "share", "exponent",
    )  # fmt: skip
    kind: Literal["figS4"]
    """Kind of the figure."""
    seed: Seed
    """Seed of the run."""
    board: int = 0
    """Number of the board, from 0."""


def table(figure: FigS4, *measured: Measured[MetricJob[Distribution]]) -> "pd.DataFrame":
    """Return exponents that are not null; `share` is the part of all of these that is larger."""
    whole = join_tables(figure, measured)
    rows = whole[(whole["seed"] == figure.seed) & (whole["board"] == figure.board)]
    counts = {
        name: each.job.train.exponents
        for name, each in zip(figure.conditions, measured, strict=True)
    }
    count = rows["model"].map(counts)
    return rows.assign(share=(rows["index"] + 0.5) / count)[list(figure.columns)]


def draw(figure: FigS4, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a curve per model: the exponents over the share that is larger."""
    drawing, [[axes]] = make_panels(1, 1, 3.0)
    for model, style in condition_styles(table["model"].unique()).items():
        rows = table[table["model"] == model]
        look = {"color": style.colour, "linestyle": style.line}
        axes.plot(rows["exponent"], rows["share"], label=condition_label(model), **look)
    axes.axvline(0, color="0.5", linewidth=0.6, zorder=0)
    axes.set(
        xlabel=r"Lyapunov exponent $\lambda$", ylabel=r"Share of exponents above $\lambda$",
        ylim=(-0.02, 1.02),
    )  # fmt: skip
    axes.legend(frameon=False)
    seed = table["seed"].iloc[0]
    title = f"one board of seed {seed}; exponents of directions that are not removed"
    legend_below(drawing, [], title)
    return drawing
