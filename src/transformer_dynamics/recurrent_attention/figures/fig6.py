"""Figure 6: AKOrN's pseudo-energy, and how far the Jacobian of attention explains it."""

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

EXPLAINED = {
    "cosine": r"cosine of vec MSA and $J$ vec $X$",
    "contribution": "contribution index",
}
"""Curves of the left panel."""


class Fig6(PseudoEnergyFigure):
    """Cosine, contribution index and pseudo-energy along the loops."""

    title: ClassVar[str] = "Recurrent attention, Figure 6: the pseudo-energy and the Jacobian"
    columns: ClassVar[tuple[str, ...]] = (
        "scale", "seed", "boards", "t", "cosine", "cosine_mean", "contribution",
        "contribution_mean", "pseudo_energy", "pseudo_energy_mean", "cosine_paper",
        "contribution_paper",
    )  # fmt: skip
    kind: Literal["fig6"]
    """Kind of the figure."""
    read_off_the_paper: dict[str, float] = {"cosine": 0.9, "contribution": 0.41}
    """Last values of the paper's curves, by eye off its plot; energies do not compare."""


def table(figure: Fig6, measured: Measured[MetricJob[PseudoEnergy]]) -> "pd.DataFrame":
    """Return every seed's means over boards, and their mean."""
    return seed_curves(figure, measured, *EXPLAINED, "pseudo_energy")


def draw(figure: Fig6, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw cosine and contribution index on the left, the pseudo-energy on the right."""
    drawing, left, right = draw_sides(table, EXPLAINED, "pseudo_energy", 2.5)
    for name in EXPLAINED:
        label_paper(left, table[f"{name}_paper"].iloc[0], "paper")
    left.set(ylabel="Cosine or index", ylim=(0, 1))
    right.set_ylabel(r"Pseudo-energy $-\mathrm{Tr}(X^\top Y)$")
    return drawing
