"""Recall of distinct tokens against the attention threshold (Figures 11 and 12)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles

COLUMNS = (
    "num_last", "eta_z", "ratio", "threshold", "recall_mean", "recall_std", "n_seeds", "stream"
)  # fmt: skip
SYMBOLS = {"eta_z": r"$\eta_Z$", "ratio": r"$\eta_Y/\eta_Z$"}


def recall_grid(
    table: pd.DataFrame, *, across: str, curves: str, next_tokens_per_query: int
) -> Figure:
    """One row per number of query tokens, one column per value of `across`, a curve per `curves`.

    Lines are means over seeds, bands one standard deviation over seeds.
    """
    rows, columns = table["num_last"].unique(), table[across].unique()
    figure, panels = plt.subplots(
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
                axes.plot(
                    x, mean, color=colour, linestyle=line, label=f"{SYMBOLS[curves]} = {curve:g}"
                )
                axes.fill_between(x, mean - std, mean + std, color=colour, alpha=0.15, linewidth=0)
            title = f"{num_last}/{num_last * next_tokens_per_query},  {SYMBOLS[across]} = {value:g}"
            axes.set_title(title, fontsize="medium")
            axes.locator_params(axis="x", nbins=4)
        line_of_panels[0].set_ylabel("Recall")
    for axes in panels[-1]:
        axes.set_xlabel("Attention threshold")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure
