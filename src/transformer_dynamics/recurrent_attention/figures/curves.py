"""Curves of seeds along the iterations, and their mean."""

from typing import TYPE_CHECKING, Any

from replication.study.contract import Figure, Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, PseudoEnergy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from replication.figures.style import Style


class OfPseudoEnergy(Figure):
    """A figure of the pseudo-energy's metric."""

    condition: str
    """Name of the condition that is drawn."""
    read_off_the_paper: dict[str, float] = {}
    """Where the paper's curves end, by eye off its plot, by column."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.condition, "pseudo_energy")]


def seed_curves(
    figure: OfPseudoEnergy, measured: Measured[MeasureJob[PseudoEnergy]], *names: str
) -> "pd.DataFrame":
    """Means over boards, with the number of the latter, and `<name>_mean`, that over seeds.

    `<name>_paper` is where the paper's curve ends.
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
    axes: "Axes", table: "pd.DataFrame", name: str, style: "Style", label: str | None = None
) -> None:
    """A faint line per seed, and their mean, over iterations; dotted where the paper's ends."""
    from matplotlib.ticker import MaxNLocator

    faint: dict[str, Any] = {"color": style.colour, "alpha": 0.35, "linewidth": 0.6}
    for _, rows in table.groupby("seed"):
        axes.plot(rows["t"], rows[name], **faint)
    mean = table.drop_duplicates("t").sort_values("t")
    axes.plot(
        mean["t"], mean[f"{name}_mean"], color=style.colour, linestyle=style.line,
        marker=style.marker, markersize=3, label=label,
    )  # fmt: skip
    if f"{name}_paper" in table:
        axes.axhline(
            mean[f"{name}_paper"].iloc[0],
            color=style.colour,
            linestyle=":",
            linewidth=0.8,
            zorder=1,
        )
    axes.set_xlabel("Iteration $t$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def name_paper(axes: "Axes", level: float, name: str) -> None:
    """Name the level at which a curve of the paper ends, above it on the right."""
    axes.text(
        0.98, level, name, fontsize=7, ha="right", va="bottom",
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip
