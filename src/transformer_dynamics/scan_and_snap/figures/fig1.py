"""Figure 1: the one-layer transformer, and two sequence classes with their probabilities."""

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Figure
from transformer_dynamics.scan_and_snap.figures.base import TOKEN_STYLES
from transformer_dynamics.scan_and_snap.settings import Mixture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Fig1(Figure):
    """The model, and two sequence classes with their conditional probabilities."""

    title: ClassVar[str] = "Scan and Snap, Figure 1: model and sequence classes"
    columns: ClassVar[tuple[str, ...]] = (
        "sequence_class", "query_token", "next_token", "token", "kind", "probability",
    )  # fmt: skip
    uses: ClassVar[tuple[str, ...]] = ("mixtures",)
    drawing: Literal["fig1"]
    """Which drawing."""
    mixture: str
    """Name of the mixture whose first two classes are drawn."""


def table(figure: Fig1, mixtures: dict[str, Mixture]) -> "pd.DataFrame":
    """P(l|m,n) of the first two sequence classes on all contextual tokens."""
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes

    classes = sequence_classes(mixtures[figure.mixture])
    rows = []
    for n in range(2):
        probability = np.zeros(classes.num_contextual)
        probability[classes.support[n]] = classes.probabilities[n]
        kind = np.full(classes.num_contextual, "absent", dtype=object)
        kind[classes.support[n]] = np.where(classes.distinct[n], "distinct", "common")
        columns = {
            "sequence_class": n + 1,
            "query_token": classes.query_tokens[classes.query[n]],
            "next_token": classes.next_tokens[n],
            "token": np.arange(classes.num_contextual),
            "kind": kind,
            "probability": probability,
        }
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def draw(figure: Fig1, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Left the model, right P(l|m,n) of each class, common and distinct tokens told apart."""
    import matplotlib.pyplot as plt

    drawing = plt.figure(figsize=(10, 3.4), layout="constrained")
    grid = drawing.add_gridspec(2, 2, width_ratios=[1, 1.25])
    _model(drawing.add_subplot(grid[:, 0]))
    panels = [drawing.add_subplot(grid[row, 1]) for row in range(2)]
    for axes, (_, rows) in zip(panels, table.groupby("sequence_class"), strict=True):
        _probabilities(axes, rows)
    panels[0].legend(loc="upper right", ncols=2, frameon=False)
    panels[1].set_xlabel("Token #")
    return drawing


def _model(axes: "Axes") -> None:
    """The forward pass of Eqs. 1-2, bottom to top."""
    axes.set(xlim=(0, 10), ylim=(0, 8), title="(a) Model")
    axes.set_axis_off()
    frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "black"}
    arrow = {"arrowstyle": "->", "color": "black", "shrinkA": 12, "shrinkB": 14}
    middle = 4.5
    layers = {
        2.7: r"attention  $b_{tT}\propto\exp(z_{m,x_t})$ over $t<T$",
        4.8: r"$f=\mathrm{LN}(X^\top b_T)$,   $\mathrm{LN}(v)=v/\|v\|_2$",
        6.9: r"$\mathrm{softmax}(Y^\top f)$ predicts $x_{T+1}=n$",
    }
    tokens = {0.6: "$x_1$", 2.4: "$x_2$", 5.4: "$x_{T-1}$", 8.4: "query $x_T=m$"}
    for x, text in tokens.items():
        style = {**arrow, "linestyle": "--"} if "query" in text else arrow
        axes.annotate("", (middle + (x - middle) * 0.5, 2.7), (x, 0.6), arrowprops=style)
        axes.text(x, 0.6, text, bbox=frame, ha="center", va="center")
    axes.text(3.9, 0.6, r"$\cdots$", ha="center", va="center")
    for low, high in pairwise(layers):
        axes.annotate("", (middle, high), (middle, low), arrowprops=arrow)
    for y, text in layers.items():
        axes.text(middle, y, text, bbox=frame, ha="center", va="center")


def _probabilities(axes: "Axes", rows: "pd.DataFrame") -> None:
    for kind, (colour, hatch) in TOKEN_STYLES.items():
        part = rows[rows["kind"] == kind]
        axes.bar(
            part["token"], part["probability"], color=colour, hatch=hatch, edgecolor="black",
            linewidth=0.4, label=f"{kind} tokens",
        )  # fmt: skip
    n, query, following = rows[["sequence_class", "query_token", "next_token"]].iloc[0]
    axes.set(
        xlim=(-0.8, rows["token"].max() + 0.8),
        ylim=(0, rows["probability"].max() * 1.45),
        ylabel="$P(l|m,n)$",
        title=f"({'bc'[n - 1]}) Class n = {n}: query token {query}, next token {following}",
    )
