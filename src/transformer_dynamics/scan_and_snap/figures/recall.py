"""Figures 11 and 12: recall of distinct tokens against the attention threshold.

Both show the same numbers; what is a column of panels in one is a curve in the other.
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import CELL, OfSweep, legend_below
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

SYMBOLS = {"eta_z": r"$\eta_Z$", "ratio": r"$\eta_Y/\eta_Z$"}


LAYOUTS = {"fig11": ("eta_z", "ratio"), "fig12": ("ratio", "eta_z")}
"""What differs from column to column, and from curve to curve."""


class Recall(OfSweep):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metric: ClassVar[Metric] = "recall"
    title: ClassVar[str] = "Scan and Snap, Figures 11 and 12: recall of distinct tokens"
    columns: ClassVar[tuple[str, ...]] = (
        "num_last", "eta_z", "ratio", "threshold", "recall_mean", "recall_std", "n_seeds", "stream",
    )  # fmt: skip
    drawing: Literal["fig11", "fig12"]
    """Which drawing: columns are eta_Z and curves ratios, or the other way about."""


def table(figure: Recall, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Mean and standard deviation over seeds after the last update."""
    from transformer_dynamics.scan_and_snap.tables import mean_and_std

    final = measured.table.query("iteration == iteration.max()")
    return mean_and_std(final, [*CELL, "threshold"], measured.job)


def draw(figure: Recall, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """One row of panels per number of query tokens.

    Lines are means over seeds, bands one standard deviation over seeds.
    """
    import matplotlib.pyplot as plt

    from replication.drawing import curve_styles

    across, curves = LAYOUTS[figure.drawing]
    rows, columns = table["num_last"].unique(), table[across].unique()
    drawing, panels = plt.subplots(
        len(rows),
        len(columns),
        figsize=(2.4 * len(columns), 1.9 * len(rows)),
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    styles = curve_styles(table[curves].unique())
    for num_last, line_of_panels in zip(rows, panels, strict=True):
        for value, axes in zip(columns, line_of_panels, strict=True):
            part = table[(table["num_last"] == num_last) & (table[across] == value)]
            for curve, (colour, line, _) in styles:
                drawn = part[part[curves] == curve]
                x, mean, std = drawn["threshold"], drawn["recall_mean"], drawn["recall_std"]
                label = f"{SYMBOLS[curves]} = {curve:g}"
                axes.plot(x, mean, color=colour, linestyle=line, label=label)
                axes.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)
            tokens = f"{num_last}/{num_last * figure.next_tokens_per_query}"
            axes.set_title(f"{tokens},  {SYMBOLS[across]} = {value:g}", fontsize="medium")
            axes.locator_params(axis="x", nbins=4)
        line_of_panels[0].set_ylabel("Recall")
    for axes in panels[-1]:
        axes.set_xlabel("Attention threshold")
    legend_below(drawing)
    return drawing
