"""Figure 6: mean entropy of c_n on distinct tokens against eta_Y / eta_Z on Syn-Medium."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
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
        rows = table[table["num_last"] == num_last]
        published = None if reference is None else rows[list(KEY)].merge(reference, on=list(KEY))
        _panel(axes, rows, published)
        axes.set(
            xlabel=r"$\eta_Y / \eta_Z$",
            title=f"#last/next tokens = {num_last}/{num_last * settings.next_tokens_per_query}",
        )
    row[0, 0].set_ylabel(r"Average entropy of $c_n$ (nats)")
    named: dict[str, Artist] = {}
    for axes in row[0]:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=len(named),
        frameon=False,
    )
    return figure


def _panel(axes: Axes, table: pd.DataFrame, published: pd.DataFrame | None) -> None:
    for eta_z, style in curve_styles(table["eta_z"].unique()):
        rows = table[table["eta_z"] == eta_z]
        axes.errorbar(
            rows["ratio"],
            rows["entropy_mean"],
            rows["entropy_std"],
            color=style.colour,
            marker=style.marker,
            linestyle=style.line,
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
