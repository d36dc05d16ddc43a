"""When the growth of distinct tokens turns in training, against the theory's times."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import OfRuns
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

PREDICTIONS = {"gamma_peak": r"peak of $\gamma(t)$", "scanning_end": r"$t_0'=K\ln M/\eta_Y$"}


class PhaseTransition(OfRuns):
    """When the growth of distinct tokens turns in training, against the theory's times."""

    metric: ClassVar[Metric] = "growth"
    title: ClassVar[str] = "Scan and Snap: phase transition in training"
    columns: ClassVar[tuple[str, ...]] = (
        "num_last", "num_classes", "vocabulary_size", "eta_y", "eta_z", "gamma_peak",
        "scanning_end", "turn_mean", "turn_std", "n_seeds",
    )  # fmt: skip
    drawing: Literal["phase_transition"]
    """One marker per mixture."""


def table(figure: PhaseTransition, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """When dB_n/dt = eta_Z xi_n is largest in training, against gamma's peak and t_0'.

    The slope is taken over a window from t/1.2 to 1.2 t of each run's interpolated B_n, which is
    wide enough for the noise of sampling and narrow against the peak.

    Args:
        figure: its columns.
        measured: the `growth` metric of the training runs.

    Returns:
        The figure's columns; times in updates.
    """
    import pandas as pd

    from transformer_dynamics.scan_and_snap.theory.decoder import gamma_peak, scanning_end
    from transformer_dynamics.scan_and_snap.turning import turn

    job = measured.job
    exponents = measured.table.query("quantity == 'exponent'")
    keys = ["mixture", "eta_z", "ratio", "seed"]
    turns = exponents.groupby(keys)[["iteration", "growth"]].apply(turn).rename("turn")
    cells = turns.groupby(keys[:3]).agg(["mean", "std", "count"]).reset_index()
    rows = []
    for cell in cells.to_dict("records"):
        mixture = job.mixtures[cell["mixture"]]
        eta_y = cell["eta_z"] * cell["ratio"]
        sizes = mixture.vocabulary_size, mixture.num_classes
        times = gamma_peak(eta_y, *sizes), scanning_end(eta_y, *sizes)
        turn_of_seeds = cell["mean"], cell["std"], cell["count"]
        rows.append((mixture.num_last, *sizes[::-1], eta_y, cell["eta_z"], *times, *turn_of_seeds))
    table = pd.DataFrame(rows, columns=list(figure.columns))
    return table.sort_values(["num_last", "eta_y"], ignore_index=True)


def draw(figure: PhaseTransition, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Left against gamma's peak, right against t_0'; the line is equality, bars are deviations."""
    import matplotlib.pyplot as plt

    from replication.drawing import curve_styles

    drawing, row = plt.subplots(1, 2, figsize=(7.6, 3.6), sharey=True, layout="constrained")
    sizes = table[["num_classes", "vocabulary_size"]].drop_duplicates().to_numpy()
    for axes, (column, label) in zip(row, PREDICTIONS.items(), strict=True):
        for (num_classes, size), (colour, _, marker) in curve_styles(sizes):
            rows = table[(table["num_classes"] == num_classes) & (table["vocabulary_size"] == size)]
            axes.errorbar(
                rows[column], rows["turn_mean"], rows["turn_std"], fmt=marker, color=colour,
                capsize=2, label=f"$K={num_classes}$, $M={size}$",
            )  # fmt: skip
        limits = [table[column].min(), table["turn_mean"].max()]
        axes.plot(limits, limits, color="black", linewidth=0.6, linestyle="--")
        axes.set(xscale="log", yscale="log", xlabel=f"predicted: {label} (updates)")
    row[0].set_ylabel(r"measured: largest $\mathrm{d}B_n/\mathrm{d}t$ (updates)")
    row[0].legend(frameon=False)
    return drawing
