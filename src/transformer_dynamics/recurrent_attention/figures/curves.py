"""Curves of seeds along the iterations, and their mean."""

from typing import TYPE_CHECKING, Any

from replication.study import Figure, Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, PseudoEnergy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from replication.drawing import Style


class OfPseudoEnergy(Figure):
    """A figure of the pseudo-energy's metric."""

    condition: str
    """Name of the condition that is drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """The one table."""
        return [(self.condition, "pseudo_energy")]


def seed_curves(
    figure: OfPseudoEnergy, measured: Measured[MeasureJob[PseudoEnergy]], *names: str
) -> "pd.DataFrame":
    """Means over boards, with the number of the latter, and `<name>_mean`, that over seeds."""
    curves = measured.table.groupby(["seed", "t"], as_index=False)[list(names)].mean()
    boards = measured.table.groupby(["seed", "t"])["board"].nunique()
    curves = curves.assign(scale=measured.job.train.boards.size, boards=boards.to_numpy())
    for name in names:
        curves[f"{name}_mean"] = curves.groupby("t")[name].transform("mean")
    return curves[list(figure.columns)]


def draw_curves(
    axes: "Axes", table: "pd.DataFrame", name: str, style: "Style", label: str | None = None
) -> None:
    """A faint line per seed, and their mean, over iterations."""
    from matplotlib.ticker import MaxNLocator

    faint: dict[str, Any] = {"color": style.colour, "alpha": 0.35, "linewidth": 0.6}
    for _, rows in table.groupby("seed"):
        axes.plot(rows["t"], rows[name], **faint)
    mean = table.drop_duplicates("t").sort_values("t")
    axes.plot(
        mean["t"], mean[f"{name}_mean"], color=style.colour, linestyle=style.line,
        marker=style.marker, markersize=3, label=label,
    )  # fmt: skip
    axes.set_xlabel("Iteration $t$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
