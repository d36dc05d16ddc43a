"""Curves of seeds along the loops, and their mean."""

from typing import TYPE_CHECKING, Any, ClassVar

from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import ConditionFigure
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, PseudoEnergy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from replication.figures.style import Style


class PseudoEnergyFigure(ConditionFigure):
    """A figure of the pseudo-energy's metric."""

    metric: ClassVar[str] = "pseudo_energy"
    read_off_the_paper: dict[str, float] = {}
    """Last values of the paper's curves, by eye off its plot, by column."""


def seed_curves(
    figure: PseudoEnergyFigure, measured: Measured[MetricJob[PseudoEnergy]], *names: str
) -> "pd.DataFrame":
    """Return means over boards, with the number of the latter, and `<name>_mean`, over seeds.

    `<name>_paper` is the last value of the paper's curve.
    """
    curves = measured.table.groupby(["seed", "t"], as_index=False)[list(names)].mean()
    boards = measured.table.groupby(["seed", "t"])["board"].nunique()
    curves = curves.assign(scale=measured.job.train.boards.size, boards=boards.to_numpy())
    for name in names:
        curves[f"{name}_mean"] = curves.groupby("t")[name].transform("mean")
    for name, last in figure.read_off_the_paper.items():
        curves[f"{name}_paper"] = last
    return curves[list(figure.columns)]


def draw_curves(
    axes: "Axes", table: "pd.DataFrame", name: str, style: "Style", label: str | None
) -> None:
    """Draw a faint line per seed, their mean, and a dotted one where the paper's curve ends."""
    from matplotlib.ticker import MaxNLocator

    faint: dict[str, Any] = {"color": style.colour, "alpha": 0.35, "linewidth": 0.6}
    for _, rows in table.groupby("seed"):
        axes.plot(rows["t"], rows[name], **faint)
    mean = table.drop_duplicates("t").sort_values("t")
    axes.plot(mean["t"], mean[f"{name}_mean"], **style.look, markersize=3, label=label)
    if f"{name}_paper" in table:
        level = mean[f"{name}_paper"].iloc[0]
        axes.axhline(level, color=style.colour, linestyle=":", linewidth=0.8, zorder=1)
    axes.set_xlabel("Loop $t$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def curves_note(table: "pd.DataFrame") -> str:
    """Return what the lines of `draw_curves` are."""
    from replication.figures.typeset import seed_count

    seeds = seed_count(table["seed"])
    return f"AKOrN: faint are {seeds}, bold their mean; dotted is where the paper's curve ends"


def label_paper(axes: "Axes", level: float, name: str) -> None:
    """Write a name above the level at which a curve of the paper ends, on the right."""
    axes.text(
        0.98, level, name, fontsize=7, ha="right", va="bottom",
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip
