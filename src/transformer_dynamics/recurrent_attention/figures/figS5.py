"""Figure S.5: trajectories that begin side by side."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import Measured
from replication.study.seeds import Seed
from transformer_dynamics.recurrent_attention.figures.conditions import ConditionFigure
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Trajectories

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


ROUNDING = 2.0**-53
"""Largest relative error of a number that is rounded to float64."""


class FigS5(ConditionFigure):
    """Distances of perturbed trajectories, and a coordinate of them."""

    metric: ClassVar[str] = "trajectories"
    title: ClassVar[str] = "Recurrent attention, Figure S.5: sensitivity to the start"
    columns: ClassVar[tuple[str, ...]] = (
        "kind", "eps", "seed", "run", "t", "distance", "coordinate", "rounding",
    )  # fmt: skip
    kind: Literal["figS5"]
    """Kind of the figure."""
    seed: Seed
    """Seed of the run."""


def table(figure: FigS5, measured: Measured[MetricJob[Trajectories]]) -> "pd.DataFrame":
    """Return the trajectories of one run; `eps` is the standard deviation of the perturbation.

    `rounding` is S D 2^-53, the L1 distance of tokens of S D coordinates of about 1, each of which
    is off by the rounding of float64.
    """
    settings, train = measured.job.settings, measured.job.train
    sizes = {"original": 0.0, "spread": settings.spread, "small": settings.small}
    rows = measured.table[measured.table["seed"] == figure.seed]
    rows = rows[rows["kind"].ne("small") | rows["t"].le(settings.early) | rows["t"].isin(
        rows.loc[rows["kind"] == "spread", "t"]
    )]  # fmt: skip
    rows = rows.assign(
        eps=rows["kind"].map(sizes), rounding=train.boards.cells * train.model.width * ROUNDING
    )
    return rows[list(figure.columns)].reset_index(drop=True)


def draw(figure: FigS5, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw distances above, a coordinate below; all steps on the left, the first on the right."""
    from itertools import pairwise

    from replication.figures.style import category_styles

    drawing, grid = make_panels(2, 2, 4.2, sharey="row", sharex="col")
    times = sorted(table["t"].unique())
    # Where all steps are kept, both sides show them.
    early = next((t for t, after in pairwise(times) if after > t + 1), times[-1])
    moved = table[table["kind"] != "original"].groupby(["kind", "run"], sort=False)
    styles = category_styles(each for _, each in moved)
    for (above, below), last in zip(grid.T, (max(times), early), strict=True):
        # Between the later steps that are kept there are tens: dots say which ones they are.
        look: dict[str, Any] = {"linewidth": 0.9}
        if last != early:
            look |= {"marker": "o", "markersize": 1.2, "linewidth": 0.5}
        for rows, style in styles:
            shown = rows[rows["t"] <= last]
            curve = {"color": style.colour, "linestyle": style.line if last == early else "-"}
            far = shown[shown["distance"] > 0]
            above.plot(far["t"], far["distance"], label=_trajectory_label(rows), **curve, **look)
            if rows["kind"].iloc[0] == "spread":
                below.plot(shown["t"], shown["coordinate"], **curve, **look)
        below.set_xlabel("Loops after the perturbation")
    _mark_rounding(grid[0, 0], table["rounding"].iloc[0])
    grid[0, 0].set(yscale="log", ylabel="L1 distance")
    grid[1, 0].set(ylabel="First coordinate")
    _set_logarithmic_from_zero(grid[1, 0], max(times))
    seed = table["seed"].iloc[0]
    title = f"ItrSA, seed {seed}: perturbed runs and the standard deviation of the noise"
    handles, _ = grid[0, 1].get_legend_handles_labels()
    legend_below(drawing, handles, title, ncols=3)
    return drawing


def _trajectory_label(rows: "pd.DataFrame") -> str:
    """Return the label of a trajectory, with the standard deviation of its perturbation."""
    digits, power = f"{rows['eps'].iloc[0]:e}".split("e")
    factor = "" if float(digits) == 1 else rf"{float(digits):g} \cdot "
    return rf"run {rows['run'].iloc[0]}, ${factor}10^{{{int(power)}}}$"


def _mark_rounding(axes: "Axes", rounding: float) -> None:
    """Draw a line at the distance that two equal trajectories may have."""
    axes.axhline(rounding, color="0.4", linewidth=0.6, linestyle=":", zorder=0)
    axes.text(
        0.03, rounding, "round-off of float64", fontsize=7, va="bottom", color="0.3",
        transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def _set_logarithmic_from_zero(axes: "Axes", last: int) -> None:
    """Make the axis of loops logarithmic, with a linear piece from 0 to 1."""
    from math import log10

    axes.set_xscale("symlog", linthresh=1, linscale=0.5)
    powers = range(int(log10(last)) + 1)
    axes.set_xticks(
        [0, *(10**power for power in powers)], ["0", *(f"$10^{power}$" for power in powers)]
    )
    axes.set_xlim(-0.2, 1.3 * last)
