"""Figure 1: the one-layer transformer, and sequence classes with their probabilities."""

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.figures.panels import legend_below
from replication.study.contract import Figure
from transformer_dynamics.scan_and_snap.figures.elements import draw_token_bars
from transformer_dynamics.scan_and_snap.settings.training import Mixture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.figure import SubFigure


class Fig1(Figure):
    """The model, and sequence classes with their conditional probabilities."""

    title: ClassVar[str] = "Scan and Snap, Figure 1: model and sequence classes"
    columns: ClassVar[tuple[str, ...]] = (
        "sequence_class", "query", "query_token", "next_token", "token", "kind", "probability",
    )  # fmt: skip
    uses: ClassVar[tuple[str, ...]] = ("mixtures",)
    kind: Literal["fig1"]
    """Kind of the figure."""
    mixture: str
    """Name of the mixture whose first classes are drawn."""
    num_classes: int = Field(default=4, ge=2, le=8)
    """Number of its classes that are drawn."""


def table(figure: Fig1, mixtures: dict[str, Mixture]) -> "pd.DataFrame":
    """Return P(l|m,n) of the first sequence classes on all contextual tokens of theirs."""
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

    classes = sequence_classes(mixtures[figure.mixture])
    tokens = np.arange(classes.support[: figure.num_classes].max() + 1)
    rows = []
    for n in range(figure.num_classes):
        probability = np.zeros(len(tokens))
        probability[classes.support[n]] = classes.probabilities[n]
        kind = np.full(len(tokens), "absent", dtype=object)
        kind[classes.support[n]] = np.where(classes.distinct[n], "distinct", "common")
        columns = {
            "sequence_class": n + 1,
            "query": classes.query[n] + 1,
            "query_token": classes.query_tokens[classes.query[n]],
            "next_token": classes.next_tokens[n],
            "token": tokens,
            "kind": kind,
            "probability": probability,
        }
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def draw(figure: Fig1, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the model, and beside it a strip for P(l|m,n) of each class, by query."""
    import matplotlib.pyplot as plt

    from replication.figures.style import WIDTH

    strips = table["sequence_class"].nunique()
    drawing = plt.figure(figsize=(WIDTH, 0.8 + 0.66 * strips), layout="constrained")
    parts = drawing.subfigures(1, 2, squeeze=False, width_ratios=[1, 1.25])[0]
    _draw_model(parts[0].subplots())
    _draw_strips(parts[1], table)
    return drawing


def _draw_model(axes: "Axes") -> None:
    """Draw the forward pass of Eqs. 1-2, bottom to top."""
    axes.set(xlim=(0, 10), ylim=(-1.9, 7.6), title="(a) One-layer transformer")
    axes.set_axis_off()
    frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "black"}
    arrow = {"arrowstyle": "->", "color": "black", "shrinkA": 14, "shrinkB": 16}
    middle = 5
    layers = {
        2.7: "Self-attention\n" r"$b_{tT}\propto\exp(z_{m,x_t})$,   $t<T$",
        4.8: "Normalization\n" r"$f=X^\top b_T\,/\,\|X^\top b_T\|_2$",
        6.9: "Decoding and softmax\n" r"$\mathrm{softmax}(Y^\top f)$ predicts $x_{T+1}=n$",
    }
    tokens = {0.8: "$x_1$", 2.6: "$x_2$", 5.4: "$x_{T-1}$", 8.6: "$x_T=m$"}
    query = max(tokens)
    for x, text in tokens.items():
        style = {**arrow, "linestyle": "--"} if x == query else arrow
        axes.annotate("", (middle + (x - middle) * 0.5, 2.7), (x, 0.6), arrowprops=style)
        axes.text(x, 0.6, text, bbox=frame, ha="center", va="center")
    axes.text(4.0, 0.6, r"$\cdots$", ha="center", va="center")
    for low, high in pairwise(layers):
        axes.annotate("", (middle, high), (middle, low), arrowprops=arrow)
    for y, text in layers.items():
        axes.text(middle, y, text, bbox=frame, ha="center", va="center")
    meanings = {"-": "is attended to", "--": "selects the row $z_m$ of $Z$,\nis not attended to"}
    for line, meaning in meanings.items():
        axes.plot([], [], line, color="black", linewidth=1, label=meaning)
    axes.legend(loc="lower left", frameon=False, borderpad=0)


def _draw_strips(part: "SubFigure", table: "pd.DataFrame") -> None:
    strips = table["sequence_class"].nunique()
    panels = part.subplots(strips, 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (n, rows) in zip(panels, table.groupby("sequence_class"), strict=True):
        for kind in ("common", "distinct"):
            bars = rows[rows["kind"] == kind]
            draw_token_bars(axes, kind, bars["token"], bars["probability"])
        query, token, following = rows[["query", "query_token", "next_token"]].iloc[0]
        axes.set_title(
            f"query $m_{query}$ (token {token}), next token $n_{n}$ (token {following})",
            fontsize="small", loc="left", pad=2,
        )  # fmt: skip
    panels[0].set(
        xlim=(-0.8, table["token"].max() + 0.8), ylim=(0, table["probability"].max() * 1.25)
    )
    panels[-1].set_xlabel("Token #")
    part.suptitle("(b) Sequence classes $(m,n)$", fontsize="medium")
    part.supylabel("$P(l|m,n)$", fontsize="medium")
    legend_below(part)
