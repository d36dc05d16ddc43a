"""Figure 6: mean entropy of c_n on distinct tokens against eta_Y / eta_Z on Syn-Medium."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import LINES, MARKERS, draw_command, greyscale_safe_colours
from transformer_dynamics.scan_and_snap.figure_settings import Fig6

KEY = ("num_last", "eta_z", "ratio")
COLUMNS = (*KEY, "entropy_mean", "entropy_std", "n_seeds", "stream")
PUBLISHED = (*KEY, "entropy_mean", "entropy_std")


def draw(table: pd.DataFrame, settings: Fig6, reference: pd.DataFrame | None = None) -> Figure:
    """One panel per number of query tokens, one curve per eta_Z.

    Error bars are the standard deviation over seeds, as in the paper; open circles are published
    means.
    """
    panels = table["num_last"].unique()
    figure, row = plt.subplots(
        1, len(panels), figsize=(2.9 * len(panels), 2.7), squeeze=False, layout="constrained"
    )
    for axes, num_last in zip(row[0], panels, strict=True):
        published = None if reference is None else reference[reference["num_last"] == num_last]
        _panel(axes, table[table["num_last"] == num_last], published)
        axes.set(
            xlabel=r"$\eta_Y / \eta_Z$", title=f"#last/next tokens = {num_last}/{2 * num_last}"
        )
    row[0, 0].set_ylabel(r"Average entropy of $c_n$ (nats)")
    handles, labels = row[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _panel(axes: Axes, table: pd.DataFrame, published: pd.DataFrame | None) -> None:
    rates = table["eta_z"].unique()
    for eta_z, colour, marker, line in zip(
        rates, greyscale_safe_colours(len(rates)), MARKERS, LINES, strict=False
    ):
        rows = table[table["eta_z"] == eta_z]
        axes.errorbar(
            rows["ratio"],
            rows["entropy_mean"],
            rows["entropy_std"],
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=4,
            capsize=2,
            label=rf"$\eta_Z={eta_z:g}$",
        )
    if published is not None and not published.empty:
        axes.plot(
            published["ratio"],
            published["entropy_mean"],
            linestyle="none",
            marker="o",
            color="black",
            markerfacecolor="none",
            markersize=9,
            label="published mean",
            zorder=5,
        )
    axes.axvline(1, color="black", linestyle="--", linewidth=0.5)
    axes.set_xticks(sorted(table["ratio"].unique()))


main = draw_command(
    draw,
    Fig6,
    title="Scan and Snap, Figure 6: entropy of attention on distinct tokens",
    columns=COLUMNS,
    reference=PUBLISHED,
)

if __name__ == "__main__":
    main()
