"""Findings A, B and C: where the paper's own statements do not hold."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Errata

COLUMNS = ("panel", "curve", "x", "y", "y_std", "n_seeds")


def draw(table: pd.DataFrame, settings: Errata, reference: pd.DataFrame | None = None) -> Figure:
    """Left A, middle B, right C; bars of C are standard deviations over seeds."""
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(11.5, 3.3), layout="constrained")
    parts = {panel: table[table["panel"] == panel] for panel in "ABC"}
    _curves(a, parts["A"], markers=False)
    a.set(
        xlabel=r"$\eta_Y t/K$",
        ylabel=r"$\xi_n(t)$",
        yscale="log",
        ylim=(parts["A"]["y"].max() * 1e-5, None),
        title=f"A: true and modified decoder\n$K={settings.num_classes}$,"
        f" $M={settings.vocabulary_size}$, Z fixed",
    )
    _curves(b, parts["B"], markers=True)
    b.set(
        xlabel="$K$ (number of classes)",
        ylabel="eigenvalue",
        yscale="log",
        title="B: Assumption 2 on Syn-Medium, $Z=0$",
    )
    _curves(c, parts["C"], markers=True)
    seeds = parts["C"]["n_seeds"].max()
    c.set(
        xlabel="updates",
        ylabel="entropy on distinct tokens (nats)",
        xscale="log",
        title=rf"C: training length, $\eta_Z={settings.eta_z:g}$, {seeds} seeds",
    )
    c.axvline(settings.first_update, color="black", linestyle="--", linewidth=0.5)
    return figure


def _curves(axes: Axes, table: pd.DataFrame, *, markers: bool) -> None:
    for name, (colour, line, marker) in curve_styles(table["curve"].unique()):
        rows = table[table["curve"] == name]
        axes.errorbar(
            rows["x"],
            rows["y"],
            rows["y_std"] if rows["y_std"].notna().any() else None,
            color=colour,
            linestyle=line,
            marker=marker if markers else None,
            markersize=4,
            capsize=2,
            label=name,
        )
    axes.legend(frameon=False, fontsize="small")


main = draw_command(draw, Errata, title="Scan and Snap: findings A, B and C", columns=COLUMNS)

if __name__ == "__main__":
    main()
