"""Figures 11 and 12: recall of distinct tokens against the attention threshold.

Both show the same numbers; a column of panels in one is a curve in the other.
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
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

SYMBOLS = {"eta_z": r"$\eta_Z$", "ratio": r"$\eta_Y/\eta_Z$"}
LAYOUTS = {"fig11": ("eta_z", "ratio"), "fig12": ("ratio", "eta_z")}
"""Column of the table that differs from panel to panel, and from curve to curve."""


class Recall(SweepFigure):
    """Recall of distinct tokens against the attention threshold, a row per mixture."""

    metrics: ClassVar[tuple[str, ...]] = ("recall",)
    title: ClassVar[str] = "Scan and Snap, Figures 11 and 12: recall of distinct tokens"
    columns: ClassVar[tuple[str, ...]] = (
        "num_last", "eta_z", "ratio", "threshold", "recall_mean", "recall_std", "n_seeds", "stream",
        "even_attention",
    )  # fmt: skip
    kind: Literal["fig11", "fig12"]
    """Kind of the figure: columns are eta_Z and curves ratios, or the other way about."""


def table(figure: Recall, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return mean and standard deviation over seeds after the last update.

    `even_attention` is 1/M, the share of each token where all have the same.
    """
    found = final_mean_and_std(measured, [*CELL, "threshold"])
    sizes = {mix.num_last: mix.vocabulary_size for mix in measured.job.mixtures.values()}
    return found.assign(even_attention=1 / found["num_last"].map(sizes))


def draw(figure: Recall, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one row of panels per number of query tokens.

    Lines are means over seeds; the bars at their ends are one standard deviation over seeds.
    """
    across, _ = LAYOUTS[figure.kind]
    rows, columns = table["num_last"].unique(), table[across].unique()
    drawing, panels = make_panels(
        len(rows), len(columns), 0.7 + 1.2 * len(rows), sharex="row", sharey=True
    )
    for num_last, line_of_panels in zip(rows, panels, strict=True):
        for value, axes in zip(columns, line_of_panels, strict=True):
            part = table[(table["num_last"] == num_last) & (table[across] == value)]
            _draw_panel(axes, part, figure)
        line_of_panels[0].set_ylabel("Recall")
        line_of_panels[-1].text(
            1.06, 0.5, f"#last/next\ntokens = {num_last}/{num_last * figure.next_tokens_per_query}",
            rotation=270, ha="left", va="center", transform=line_of_panels[-1].transAxes,
        )  # fmt: skip
    for value, axes in zip(columns, panels[0], strict=True):
        axes.set_title(f"{SYMBOLS[across]} = {value:g}")
    for axes in panels[-1]:
        axes.set_xlabel("Threshold ($10^{-3}$)")
    legend_below(drawing, title=f"{spread_note(table)}; 1/M: all tokens alike")
    return drawing


def _draw_panel(axes: "Axes", table: "pd.DataFrame", figure: Recall) -> None:
    from replication.figures.style import curve_styles

    _, curves = LAYOUTS[figure.kind]
    styles = curve_styles(table[curves].unique())
    axes.axvline(
        table["even_attention"].iloc[0], color="black", linestyle=":", linewidth=0.8, label="1/M"
    )
    for index, (curve, (colour, line, _)) in enumerate(styles):
        drawn = table[table[curves] == curve].sort_values("threshold")
        axes.plot(
            drawn["threshold"], drawn["recall_mean"], color=colour, linestyle=line,
            label=f"{SYMBOLS[curves]} = {curve:g}",
        )  # fmt: skip
        ends = drawn.iloc[[0, -1]]
        draw_dodged_points(
            axes, ends["threshold"], ends["recall_mean"], ends["recall_std"],
            (index, len(styles)), color=colour, linestyle="none", elinewidth=0.7,
        )  # fmt: skip
    axes.locator_params(axis="x", nbins=3)
    axes.xaxis.set_major_formatter(lambda threshold, _: f"{1000 * threshold:g}")
