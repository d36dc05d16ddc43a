"""Figure 8: h*(s) of the discrete updates and h(s) of the continuous dynamics."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import curve_styles, draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig8

COLUMNS = ("panel", "eta_y", "t", "h_step", "h_continuous")


def draw(table: pd.DataFrame, settings: Fig8, reference: pd.DataFrame | None = None) -> Figure:
    """One panel per vocabulary size; steps are h*, smooth curves are h."""
    figure, row = plt.subplots(
        1, len(settings.panels), figsize=(9, 3.1), squeeze=False, layout="constrained"
    )
    for index, (axes, panel) in enumerate(zip(row[0], settings.panels, strict=True), start=1):
        for eta_y, (colour, line, _) in curve_styles(panel.eta_y):
            rows = table[(table["panel"] == index) & (table["eta_y"] == eta_y)]
            axes.step(rows["t"], rows["h_step"], where="post", color=colour, linewidth=0.8)
            label = rf"$\eta_Y={eta_y:g}$"
            axes.plot(rows["t"], rows["h_continuous"], color=colour, linestyle=line, label=label)
        axes.set(xlabel="Time $t$ (updates)", title=f"$M={panel.vocabulary_size}$, $K=1$")
        axes.legend(frameon=False)
    row[0, 0].set_ylabel("$h^*(t)$ (steps), $h(t)$ (curves)")
    return figure


main = draw_command(draw, Fig8, title="Scan and Snap, Figure 8: h* and h", columns=COLUMNS)

if __name__ == "__main__":
    main()
