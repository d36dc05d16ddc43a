"""Curves of seeds along the loops, and their mean."""

from typing import TYPE_CHECKING, Any, ClassVar

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.figures.conditions import ConditionFigure
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, PseudoEnergy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

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


def draw_sides(
    table: "pd.DataFrame", labels: dict[str, str], other: str, height: float
) -> "tuple[Drawing, Axes, Axes]":
    """Draw the curves that have labels on the left, another one on the right; return both panels.

    A faint line is a seed, a bold one their mean; a dotted one is where the paper's curve ends.
    """
    from replication.figures.style import category_styles
    from replication.figures.typeset import seed_count

    drawing, [[left, right]] = make_panels(1, 2, height)
    for name, style in category_styles([*labels, other]):
        _draw_curve(left if name in labels else right, table, name, style, labels.get(name))
    seeds = seed_count(table["seed"])
    title = f"AKOrN: faint are {seeds}, bold their mean; dotted is where the paper's curve ends"
    legend_below(drawing, title=title)
    return drawing, left, right


def _draw_curve(
    axes: "Axes", table: "pd.DataFrame", name: str, style: "Style", label: str | None
) -> None:
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


def label_paper(axes: "Axes", level: float, name: str) -> None:
    """Write a name above the level at which a curve of the paper ends, on the right."""
    axes.text(
        0.98, level, name, fontsize=7, ha="right", va="bottom",
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip
