"""Figure 6: mean entropy of c_n on distinct tokens against eta_Y / eta_Z on Syn-Medium."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import CELL, OfSweep, legend_below
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

KEY = ("num_last", "eta_z", "ratio")


class Fig6(OfSweep):
    """Mean entropy of the attention on distinct tokens against eta_Y / eta_Z."""

    metric: ClassVar[Metric] = "entropy"
    published_columns: ClassVar[tuple[str, ...]] = (*KEY, "entropy_mean", "entropy_std")
    title: ClassVar[str] = "Scan and Snap, Figure 6: entropy of attention on distinct tokens"
    columns: ClassVar[tuple[str, ...]] = (*KEY, "entropy_mean", "entropy_std", "n_seeds", "stream")
    drawing: Literal["fig6"]
    """Which drawing."""


def table(figure: Fig6, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """Mean and standard deviation over seeds after the last update."""
    from transformer_dynamics.scan_and_snap.tables import mean_and_std

    final = measured.table.query("iteration == iteration.max()")
    return mean_and_std(final, CELL, measured.job)


def draw(figure: Fig6, table: "pd.DataFrame", published: "pd.DataFrame | None" = None) -> "Drawing":
    """One panel per number of query tokens, one curve per eta_Z.

    Error bars are the standard deviation over seeds, as in the paper; open circles are published
    means.
    """
    import matplotlib.pyplot as plt

    panels = table["num_last"].unique()
    drawing, row = plt.subplots(
        1, len(panels), figsize=(2.9 * len(panels), 2.7), squeeze=False, layout="constrained"
    )
    for axes, num_last in zip(row[0], panels, strict=True):
        rows = table[table["num_last"] == num_last]
        beside = None if published is None else rows[list(KEY)].merge(published, on=list(KEY))
        _panel(axes, rows, beside)
        axes.set(
            xlabel=r"$\eta_Y / \eta_Z$",
            title=f"#last/next tokens = {num_last}/{num_last * figure.next_tokens_per_query}",
        )
    row[0, 0].set_ylabel(r"Average entropy of $c_n$ (nats)")
    legend_below(drawing)
    return drawing


def _panel(axes: "Axes", table: "pd.DataFrame", published: "pd.DataFrame | None") -> None:
    from replication.drawing import curve_styles

    for eta_z, (colour, line, marker) in curve_styles(table["eta_z"].unique()):
        rows = table[table["eta_z"] == eta_z]
        axes.errorbar(
            rows["ratio"], rows["entropy_mean"], rows["entropy_std"], color=colour, marker=marker,
            linestyle=line, markersize=4, capsize=2, label=rf"$\eta_Z={eta_z:g}$",
        )  # fmt: skip
    if published is not None and not published.empty:
        axes.plot(
            published["ratio"], published["entropy_mean"], "o", color="black",
            markerfacecolor="none", markersize=9, label="published mean", zorder=5,
        )  # fmt: skip
    axes.axvline(1, color="black", linestyle="--", linewidth=0.5)
    axes.set_xticks(sorted(table["ratio"].unique()))
