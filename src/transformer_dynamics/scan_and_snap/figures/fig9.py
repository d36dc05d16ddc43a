"""Figure 9: B_n(t) at a fixed ratio of the learning rates."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig9
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    phase_times,
)

COLUMNS = ("panel", "eta_y", "eta_z", "t", "growth_bound")


def draw(table: pd.DataFrame, settings: Fig9, reference: pd.DataFrame | None = None) -> Figure:
    """One panel per ratio, one curve per eta_Z; dotted lines are t_0, dots B_n(t_0)."""
    figure, row = plt.subplots(
        1, len(settings.panels), figsize=(9, 3.1), squeeze=False, layout="constrained"
    )
    for index, (axes, panel) in enumerate(zip(row[0], settings.panels, strict=True), start=1):
        rows_of_panel = table[table["panel"] == index]
        for eta_z, (colour, line, _) in curve_styles(panel.eta_z):
            rows = rows_of_panel[rows_of_panel["eta_z"] == eta_z]
            eta_y = panel.nu * eta_z
            axes.plot(
                rows["t"],
                rows["growth_bound"],
                color=colour,
                linestyle=line,
                label=rf"$\eta_Z={eta_z:g}$, $\eta_Y={eta_y:g}$",
            )
            setting = Setting(
                eta_y, eta_z, panel.vocabulary_size, settings.num_classes, settings.c0
            )
            start = phase_times(setting)[1]
            axes.axvline(start, color=colour, linestyle=":", linewidth=1)
            axes.plot(
                start, exponent(setting, start, printed=True), "o", color=colour, markersize=4
            )
        axes.set(
            xlabel="Time $t$ (updates)",
            title=rf"$\eta_Y/\eta_Z={panel.nu:g}$, $M={panel.vocabulary_size}$,"
            rf" $K={settings.num_classes}$, $C_0={settings.c0:g}$",
        )
        axes.legend(framealpha=1)
    row[0, 0].set_ylabel("$B_n(t)$")
    return figure


main = draw_command(
    draw, Fig9, title="Scan and Snap, Figure 9: B_n at a fixed ratio of rates", columns=COLUMNS
)

if __name__ == "__main__":
    main()
