"""Figure S.5: trajectories that begin side by side."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.seeds import Seed
from replication.study import Figure, Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Trajectories

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class FigS5(Figure):
    """Distances of perturbed trajectories, and a coordinate of them."""

    title: ClassVar[str] = "Recurrent attention, Figure S.5: sensitivity to the start"
    columns: ClassVar[tuple[str, ...]] = (
        "kind", "eps", "seed", "run", "t", "distance", "coordinate",
    )  # fmt: skip
    drawing: Literal["figS5"]
    """Which drawing."""
    condition: str
    """Name of the condition."""
    seed: Seed
    """Which run."""

    def sources(self) -> list[tuple[str, str]]:
        """The trajectories."""
        return [(self.condition, "trajectories")]


def table(figure: FigS5, measured: Measured[MeasureJob[Trajectories]]) -> "pd.DataFrame":
    """The trajectories of one run; `eps` is the standard deviation of the perturbation."""
    how = measured.job.how
    sizes = {"original": 0.0, "spread": how.spread, "small": how.small}
    rows = measured.table[measured.table["seed"] == figure.seed]
    rows = rows[rows["kind"].ne("small") | rows["t"].le(how.early) | rows["t"].isin(
        rows.loc[rows["kind"] == "spread", "t"]
    )]  # fmt: skip
    return rows.assign(eps=rows["kind"].map(sizes))[list(figure.columns)].reset_index(drop=True)


def draw(figure: FigS5, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Distances above, a coordinate below; left all steps, right the first ones."""
    from itertools import pairwise

    import matplotlib.pyplot as plt

    from replication.drawing import WIDTH

    drawing, grid = plt.subplots(
        2, 2, figsize=(WIDTH, 4.0), sharey="row", sharex="col", layout="constrained"
    )
    times = sorted(table["t"].unique())
    early = next(t for t, after in pairwise(times) if after > t + 1)
    for (above, below), last in zip(grid.T, (max(times), early), strict=True):
        rows = table[table["t"] <= last]
        # Between what is kept there are tens of steps: dots, as a line would show what is not.
        _distances(above, rows, is_dense=last == early)
        _coordinates(below, rows, is_dense=last == early)
        below.set_xlabel("Steps after the perturbation")
    grid[0, 0].set_ylabel("L1 distance")
    grid[1, 0].set_ylabel("First coordinate")
    grid[0, 0].legend(frameon=False, markerscale=4)
    return drawing


def _distances(axes: "Axes", table: "pd.DataFrame", *, is_dense: bool) -> None:
    from replication.drawing import CATEGORIES

    moved = table[table["kind"] != "original"]
    for (eps, rows), colour in zip(moved.groupby("eps", sort=False), CATEGORIES, strict=False):
        for index, (_, each) in enumerate(rows.groupby("run")):
            shown = each[each["distance"] > 0]
            axes.plot(
                shown["t"], shown["distance"], color=colour, linestyle="-" if is_dense else "none",
                marker="" if is_dense else ".", markersize=1.5, linewidth=0.9,
                label=_size_of(float(str(eps))) if index == 0 else None,
            )  # fmt: skip
    axes.set_yscale("log")


def _size_of(eps: float) -> str:
    digits, power = f"{eps:e}".split("e")
    factor = "" if float(digits) == 1 else rf"{float(digits):g} \cdot "
    return rf"standard deviation ${factor}10^{{{int(power)}}}$"


def _coordinates(axes: "Axes", table: "pd.DataFrame", *, is_dense: bool) -> None:
    from replication.drawing import category_styles

    runs = table[table["kind"] == "spread"]
    for run, style in category_styles(runs["run"].unique()):
        each = runs[runs["run"] == run]
        axes.plot(
            each["t"], each["coordinate"], color=style.colour,
            linestyle=style.line if is_dense else "none", linewidth=0.9,
            marker="" if is_dense else ".", markersize=1.5,
        )  # fmt: skip
