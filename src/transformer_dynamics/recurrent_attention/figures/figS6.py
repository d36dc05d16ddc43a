"""Figure S.6: the contribution index with other Jacobians, and the quadratic form."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.pseudo_energy_curves import (
    PseudoEnergyFigure,
    draw_sides,
    label_paper,
    seed_curves,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, PseudoEnergy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

JACOBIANS = {
    "contribution_J": r"exact $J$",
    "contribution_P": r"$\sum_h P_h(t)\otimes (W^V_h W^O_h)^\top$",
    "contribution_P0": r"$\sum_h P_h(0)\otimes (W^V_h W^O_h)^\top$",
}
"""Curves of the left panel."""


class FigS6(PseudoEnergyFigure):
    """Contribution indices and the quadratic form along the loops."""

    title: ClassVar[str] = "Recurrent attention, Figure S.6: attention as at the first iteration"
    columns: ClassVar[tuple[str, ...]] = (
        "scale", "seed", "boards", "t", "contribution_J", "contribution_J_mean", "contribution_P",
        "contribution_P_mean", "contribution_P0", "contribution_P0_mean", "quadratic_form",
        "quadratic_form_mean", *(f"{name}_paper" for name in JACOBIANS),
    )  # fmt: skip
    kind: Literal["figS6"]
    """Kind of the figure."""
    read_off_the_paper: dict[str, float] = {
        "contribution_J": 0.41,
        "contribution_P": 0.45,
        "contribution_P0": 0.43,
    }
    """Last values of the paper's curves, by eye off its plot, by column."""


def table(figure: FigS6, measured: Measured[MetricJob[PseudoEnergy]]) -> "pd.DataFrame":
    """Return every seed's means over boards, and their mean."""
    named = measured.table.rename(columns={"contribution": "contribution_J"})
    return seed_curves(figure, measured._replace(table=named), *JACOBIANS, "quadratic_form")


def draw(figure: FigS6, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the contribution indices on the left, the quadratic form on the right."""
    drawing, left, right = draw_sides(table, JACOBIANS, "quadratic_form", 2.6)
    levels = [table[f"{name}_paper"].iloc[0] for name in JACOBIANS]
    label_paper(left, max(levels), "paper, each in its colour")
    left.margins(y=0.12)
    left.set_ylim(bottom=0)
    left.set_ylabel("Contribution index")
    right.set_ylabel("Energy without inputs (Eq. 95)")
    return drawing
