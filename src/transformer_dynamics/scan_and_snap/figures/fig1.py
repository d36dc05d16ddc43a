"""Figure 1: the one-layer transformer, and two sequence classes with their probabilities."""

from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig1
from transformer_dynamics.scan_and_snap.figures.tokens import TOKEN_STYLES

COLUMNS = ("sequence_class", "query_token", "next_token", "token", "kind", "probability")


def draw(table: pd.DataFrame, settings: Fig1, reference: pd.DataFrame | None = None) -> Figure:
    """Left the model, right P(l|m,n) of each class, common and distinct tokens told apart."""
    classes = [(n, table[table["sequence_class"] == n]) for n in table["sequence_class"].unique()]
    figure = plt.figure(figsize=(10, 3.4), layout="constrained")
    grid = figure.add_gridspec(len(classes), 2, width_ratios=[1, 1.25])
    _model(figure.add_subplot(grid[:, 0]))
    for row, (n, rows) in enumerate(classes):
        axes = figure.add_subplot(grid[row, 1])
        _probabilities(axes, rows, n)
        if row == 0:
            axes.legend(loc="upper right", ncols=2, frameon=False)
        if row == len(classes) - 1:
            axes.set_xlabel("Token #")
    return figure


def _model(axes: Axes) -> None:
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


def _probabilities(axes: Axes, rows: pd.DataFrame, n: int) -> None:
    for kind, (colour, hatch) in TOKEN_STYLES.items():
        part = rows[rows["kind"] == kind]
        axes.bar(
            part["token"],
            part["probability"],
            color=colour,
            hatch=hatch,
            edgecolor="black",
            linewidth=0.4,
            label=f"{kind} tokens",
        )
    query, following = rows[["query_token", "next_token"]].iloc[0]
    axes.set(
        xlim=(-0.8, rows["token"].max() + 0.8),
        ylim=(0, rows["probability"].max() * 1.45),
        ylabel="$P(l|m,n)$",
        title=f"({'bc'[n - 1]}) Class n = {n}: query token {query}, next token {following}",
    )


main = draw_command(
    draw, Fig1, title="Scan and Snap, Figure 1: model and sequence classes", columns=COLUMNS
)

if __name__ == "__main__":
    main()
