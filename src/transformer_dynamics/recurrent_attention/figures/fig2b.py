"""Figure 2b: eigenvalues of a rotation are drawn to the unit circle, if all planes turn alike."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.base.strict import Positive
from replication.figures.panels import legend_below
from replication.study.contract import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

KINDS = {"equal": r"one $\omega$ for all planes", "unequal": r"$x$ in the slowest plane"}


class Fig2b(Figure):
    """1 +- i eta omega without and with normalisation."""

    title: ClassVar[str] = "Recurrent attention, Figure 2b: eigenvalues drawn to the unit circle"
    columns: ClassVar[tuple[str, ...]] = ("eta", "omega", "kind", "normalised", "re", "im")
    kind: Literal["fig2b"]
    """Kind of the figure."""
    eta: Positive = 1.0
    """Size eta of a step."""
    omega: Annotated[list[Positive], Field(min_length=2)] = [0.75, 1.25, 2.0]
    """Frequencies omega, the least one first."""


def table(figure: Fig2b) -> "pd.DataFrame":
    """Return both eigenvalues of every plane, before and after, and the unit circle.

    Of kind `equal`, all planes have the frequency of the row; of kind `unequal` each plane has its
    own, and x lies in the first one, whose length all are divided by.
    """
    import numpy as np
    import pandas as pd

    from transformer_dynamics.recurrent_attention.theory.rotation import plane_eigenvalue

    rows = []
    for kind in KINDS:
        for omega in figure.omega:
            square = (omega if kind == "equal" else figure.omega[0]) ** 2
            for normalised in (False, True):
                value = plane_eigenvalue(figure.eta, omega, square if normalised else None)
                for conjugate in (value, value.conjugate()):
                    parts = (conjugate.real, conjugate.imag)
                    rows.append((figure.eta, omega, kind, normalised, *parts))
    angles = np.linspace(0, 2 * np.pi, 181)
    circle = [(figure.eta, 0.0, "circle", True, np.cos(a), np.sin(a)) for a in angles]
    return pd.DataFrame([*rows, *circle], columns=list(figure.columns))


def draw(figure: Fig2b, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw a panel per kind; hollow: without normalisation; full: with it."""
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    from replication.figures.style import curve_styles

    drawing, row = plt.subplots(
        1, len(KINDS), figsize=(4.2, 3.2), sharey=True, layout="constrained"
    )
    circle = table[table["kind"] == "circle"]
    styles = curve_styles(figure.omega)
    for axes, (kind, title) in zip(row, KINDS.items(), strict=True):
        axes.plot(circle["re"], circle["im"], color="0.6", linewidth=0.8, zorder=1)
        for omega, style in styles:
            rows = table[(table["kind"] == kind) & (table["omega"] == omega)]
            for upper in (True, False):
                pair = rows[(rows["im"] > 0) == upper].sort_values("normalised")
                start, end = zip(pair["re"], pair["im"], strict=True)
                arrow = {
                    "arrowstyle": "-|>,head_width=0.12,head_length=0.25",
                    "color": style.colour,
                    "shrinkA": 2.5,
                    "shrinkB": 2.5,
                }
                axes.annotate("", end, start, arrowprops={**arrow, "linewidth": 0.9})
                for place, face in ((start, "white"), (end, style.colour)):
                    axes.plot(
                        *place, style.marker, color=style.colour, markerfacecolor=face,
                        markersize=3.5, zorder=3,
                    )  # fmt: skip
        axes.set(title=title, xlabel="real part", xlim=(-1.3, 1.4), aspect="equal")
    row[0].set_ylabel("imaginary part")
    named = [
        Line2D([], [], color=style.colour, marker=style.marker, linestyle="none",
               label=rf"$\eta\omega={figure.eta * omega:g}$")
        for omega, style in styles
    ]  # fmt: skip
    marks = [
        Line2D([], [], color="0.3", marker="o", markerfacecolor=face, linestyle="none", label=label)
        for face, label in (("white", "without normalisation"), ("0.3", "with it"))
    ]
    legend_below(drawing, [*named, *marks], handlelength=1, columnspacing=1)
    return drawing
