"""Figure 1: spectral norm of attention's Jacobian against the number of tokens."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Strict
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsMetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

LABELS = {
    "SA(X)": "without: SA($X$)",
    "SA(Norm(X))": r"SA(Norm($X$))",
    "Norm(SA(X))": r"Norm(SA($X$))",
    "Norm(X + SA(X))": r"Norm($X$ + SA($X$))",
}

INITIALISATIONS = {"linear": "PyTorch's default", "xavier": "Xavier's, uniform"}
"""Names of the distributions of initial weights."""

TwoEnds = Field(min_length=2, max_length=2)
"""Length of a list of the two ends of a curve."""


class PrintedNorms(Strict):
    """Norms of the paper's Figure 1, by eye off its plot."""

    tokens: Annotated[list[int], TwoEnds] = [20, 100]
    """Least and largest number of tokens."""
    without: Annotated[list[float], TwoEnds] = [700.0, 2500.0]
    """Norms without normalisation, at both."""
    with_normalisation: float = 0.017
    """Norm with normalisation, at any number."""


class Fig1(ExperimentFigure):
    """Norm without normalisation, and in three readings with it."""

    metrics: ClassVar[tuple[str, ...]] = ("norms",)
    title: ClassVar[str] = "Recurrent attention, Figure 1: norm of the Jacobian by number of tokens"
    columns: ClassVar[tuple[str, ...]] = (
        "reading", "init", "H", "S", "draw", "norm", "mean", "paper_without", "paper_with",
    )  # fmt: skip
    kind: Literal["fig1"]
    """Kind of the figure."""
    experiment: str = "token_norms"
    """Name of the experiment that is drawn."""
    read_off_the_paper: PrintedNorms = PrintedNorms()
    """Curves of the paper's Figure 1."""


def table(figure: Fig1, measured: Measured[TokenNormsMetricJob]) -> "pd.DataFrame":
    """Return |J|_2 of every draw; `mean` is the geometric mean over draws.

    `paper_without` is what the paper has without normalisation at the ends of its curve, missing at
    other S; `paper_with` is its level with it.
    """
    import numpy as np

    names = {"initialisation": "init", "heads": "H", "tokens": "S", "seed": "draw"}
    rows = measured.table.rename(columns=names)
    cell = ["reading", "init", "H", "S"]
    logs = rows.assign(log=np.log(rows["norm"])).groupby(cell)["log"].mean()
    means = np.exp(logs).rename("mean")
    order = rows["reading"].map(list(LABELS).index)
    ordered = rows.assign(order=order).sort_values(["order", "init", "H", "S", "draw"])
    paper = figure.read_off_the_paper
    ordered = ordered.assign(
        paper_without=ordered["S"].map(dict(zip(paper.tokens, paper.without, strict=True))),
        paper_with=paper.with_normalisation,
    )
    return ordered.join(means, on=cell)[list(figure.columns)]


def draw(figure: Fig1, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per initialisation and number of heads; lines: means; dots: draws."""
    from matplotlib.ticker import FixedLocator, NullLocator

    from replication.figures.style import category_styles

    panels = list(table.groupby(["init", "H"]))
    drawing, [row] = make_panels(1, len(panels), 2.9, sharey=True)
    for axes, ((init, heads), of_panel) in zip(row, panels, strict=True):
        for reading, style in category_styles(of_panel["reading"].unique()):
            rows = of_panel[of_panel["reading"] == reading]
            line = rows.drop_duplicates("S")
            look = style.look | {"linewidth": 1, "markersize": 3}
            axes.plot(line["S"], line["mean"], label=LABELS[reading], **look)
            axes.plot(
                rows["S"], rows["norm"], "_", color=style.colour, markersize=5, alpha=0.6,
                markeredgewidth=0.6,
            )  # fmt: skip
        read = of_panel.drop_duplicates("S").dropna(subset="paper_without").sort_values("S")
        axes.plot(read["S"], read["paper_without"], color="black", linewidth=0.6)
        axes.axhline(of_panel["paper_with"].iloc[0], color="black", linewidth=0.6, zorder=1)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="tokens $S$",
            title=f"{INITIALISATIONS.get(str(init), str(init))},\n$H={heads}$",
        )
        axes.xaxis.set_major_locator(FixedLocator(sorted(table["S"].unique())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:.0f}")
    first = row[0]
    for column, side in (("paper_without", "without"), ("paper_with", "with")):
        if table[column].notna().any():
            # Above the level; below the curve, which rises.
            place = {"va": "top" if side == "without" else "bottom", "fontsize": 7}
            first.text(table["S"].min(), table[column].min(), f"paper, {side}", **place)
    first.set_ylabel(r"Norm of the Jacobian $\|J\|_2$")
    draws = table["draw"].nunique()
    title = f"weights drawn at random: dashes are {draws} draws, lines their geometric means"
    legend_below(drawing, title=title, columnspacing=1.2)
    return drawing
