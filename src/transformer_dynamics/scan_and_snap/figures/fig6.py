"""Figure 6: mean entropy of c_n on distinct tokens against eta_Y / eta_Z on Syn-Medium."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, wrap_panels
from replication.study.contract import Measured
from transformer_dynamics.scan_and_snap.figures.elements import (
    CELL,
    SweepFigure,
    draw_dodged_points,
    final_mean_and_std,
    spread_note,
)
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


class Fig6(SweepFigure):
    """Mean entropy of the attention on distinct tokens against eta_Y / eta_Z."""

    metrics: ClassVar[tuple[str, ...]] = ("entropy",)
    published_columns: ClassVar[tuple[str, ...]] = (*CELL, "entropy_mean", "entropy_std")
    title: ClassVar[str] = "Scan and Snap, Figure 6: entropy of attention on distinct tokens"
    columns: ClassVar[tuple[str, ...]] = (
        *CELL, "entropy_mean", "entropy_std", "n_seeds", "stream", "entropy_even",
        "entropy_without_attention",
    )  # fmt: skip
    kind: Literal["fig6"]
    """Kind of the figure."""


def table(figure: Fig6, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return mean and standard deviation over seeds after the last update, and two references.

    `entropy_even` is the logarithm of the number of distinct tokens, the largest entropy;
    `entropy_without_attention` is that of P(l|n), from which training starts at z = 0.
    """
    found = final_mean_and_std(measured, CELL)
    return found.merge(_untrained(measured.job), on="num_last", how="left", validate="many_to_one")


def _untrained(job: MetricJob) -> "pd.DataFrame":
    import numpy as np
    import pandas as pd

    from transformer_dynamics.scan_and_snap.metrics.attention import entropy_on_distinct
    from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

    rows = []
    for mixture in job.mixtures.values():
        zero = np.zeros((mixture.num_last, mixture.vocabulary_size))
        start = entropy_on_distinct(sequence_classes(mixture), zero)
        even = np.log(len(mixture.distinct_weights))
        rows.append((mixture.num_last, float(even), float(start)))
    return pd.DataFrame(rows, columns=["num_last", "entropy_even", "entropy_without_attention"])


def draw(figure: Fig6, table: "pd.DataFrame", published: "pd.DataFrame | None" = None) -> "Drawing":
    """Draw one panel per number of query tokens, one curve per eta_Z.

    Error bars are the standard deviation over seeds, as in the paper; open circles are published
    means.
    """
    sizes = table["num_last"].unique()
    drawing, grid = wrap_panels(len(sizes), min(len(sizes), 2), 2.1, 0.5)
    for axes, num_last in zip(grid.flat, sizes, strict=False):
        shown = table[table["num_last"] == num_last]
        beside = None if published is None else shown[CELL].merge(published, on=CELL)
        _draw_panel(axes, shown, beside)
        axes.set(
            xlabel=r"$\eta_Y / \eta_Z$",
            ylabel=r"Average entropy of $c_n$ (nats)",
            title=f"#last/next tokens = {num_last}/{num_last * figure.next_tokens_per_query}",
        )
        axes.label_outer(remove_inner_ticks=False)
        axes.tick_params(labelbottom=True, labelleft=True)
    legend_below(drawing, title=spread_note(table), ncols=4)
    return drawing


def _draw_panel(axes: "Axes", table: "pd.DataFrame", published: "pd.DataFrame | None") -> None:
    from replication.figures.style import curve_styles

    axes.axhline(
        table["entropy_even"].iloc[0], color="black", linestyle=":", linewidth=0.8,
        label="even attention",
    )  # fmt: skip
    axes.axhline(
        table["entropy_without_attention"].iloc[0], color="0.5", linestyle="-", linewidth=0.8,
        label="$P(l|n)$, the start",
    )  # fmt: skip
    styles = curve_styles(table["eta_z"].unique())
    places = [(index, len(styles)) for index in range(len(styles))]
    for (eta_z, (colour, line, _)), place in zip(styles, places, strict=True):
        rows = table[table["eta_z"] == eta_z]
        draw_dodged_points(
            axes, rows["ratio"], rows["entropy_mean"], rows["entropy_std"], place, color=colour,
            marker="o", markersize=1.2, linestyle=line, linewidth=1, elinewidth=0.8, capsize=2,
            label=rf"$\eta_Z={eta_z:g}$",
        )  # fmt: skip
    if published is not None:
        for (eta_z, _), place in zip(styles, places, strict=True):
            rows = published[published["eta_z"] == eta_z]
            draw_dodged_points(
                axes, rows["ratio"], rows["entropy_mean"], None, place, color="black",
                marker="o", markersize=2.6, markerfacecolor="none", markeredgewidth=0.5,
                linestyle="none", label="published mean", zorder=5,
            )  # fmt: skip
    axes.axvline(1, color="0.5", linestyle="--", linewidth=0.5, zorder=0)
    axes.set_xticks(sorted(table["ratio"].unique()))
