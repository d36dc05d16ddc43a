"""When the growth of distinct tokens turns in training, against the theory's times."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import PhaseTransition

COLUMNS = (
    "num_last", "num_classes", "vocabulary_size", "eta_y", "eta_z", "gamma_peak", "scanning_end",
    "turn_mean", "turn_std", "n_seeds",
)  # fmt: skip
PREDICTIONS = {"gamma_peak": r"peak of $\gamma(t)$", "scanning_end": r"$t_0'=K\ln M/\eta_Y$"}


def draw(
    table: pd.DataFrame, settings: PhaseTransition, reference: pd.DataFrame | None = None
) -> Figure:
    """Left against gamma's peak, right against t_0'; the line is equality, bars are deviations."""
    figure, row = plt.subplots(
        1, len(PREDICTIONS), figsize=(7.6, 3.6), sharey=True, layout="constrained"
    )
    sizes = table[["num_classes", "vocabulary_size"]].drop_duplicates().to_numpy()
    for axes, (column, label) in zip(row, PREDICTIONS.items(), strict=True):
        for (num_classes, size), (colour, _, marker) in curve_styles(sizes):
            rows = table[(table["num_classes"] == num_classes) & (table["vocabulary_size"] == size)]
            axes.errorbar(
                rows[column],
                rows["turn_mean"],
                rows["turn_std"],
                color=colour,
                marker=marker,
                linestyle="none",
                capsize=2,
                label=f"$K={num_classes}$, $M={size}$",
            )
        limits = [table[column].min(), table["turn_mean"].max()]
        axes.plot(limits, limits, color="black", linewidth=0.6, linestyle="--")
        axes.set(xscale="log", yscale="log", xlabel=f"predicted: {label} (updates)")
    row[0].set_ylabel(r"measured: largest $\mathrm{d}B_n/\mathrm{d}t$ (updates)")
    row[0].legend(frameon=False)
    return figure


main = draw_command(
    draw, PhaseTransition, title="Scan and Snap: phase transition in training", columns=COLUMNS
)

if __name__ == "__main__":
    main()
