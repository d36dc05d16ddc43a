"""Figure 3: growth factor of a distinct token against time (Theorem 4)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig3
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start

COLUMNS = ("eta_y", "eta_z", "t", "growth_factor")


def draw(table: pd.DataFrame, settings: Fig3, reference: pd.DataFrame | None = None) -> Figure:
    """One curve per eta_Y; a dotted vertical line of its colour marks t_0."""
    figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    for eta_y, style in curve_styles(table["eta_y"].unique()):
        rows = table[table["eta_y"] == eta_y]
        axes.plot(
            rows["t"],
            rows["growth_factor"],
            color=style.colour,
            linestyle=style.line,
            label=rf"$\eta_Y={eta_y:g}$",
        )
        start = snapping_start(eta_y, settings.vocabulary_size, settings.num_classes)
        axes.axvline(start, color=style.colour, linestyle=":", linewidth=1)
    axes.set(
        xlabel="Time $t$ (updates)",
        ylabel=r"Growth factor $\chi_l(t)$",
        title=rf"$\eta_Z={settings.eta_z:g}$, $K={settings.num_classes}$,"
        rf" $M={settings.vocabulary_size}$, $C_0={settings.c0:g}$",
    )
    axes.legend(framealpha=1)
    return figure


main = draw_command(
    draw, Fig3, title="Scan and Snap, Figure 3: growth factor against time", columns=COLUMNS
)

if __name__ == "__main__":
    main()
