"""Figure 5: part of c_n along training with Adam on Syn-Small."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig5
from transformer_dynamics.scan_and_snap.figures.heatmaps import heatmap

COLUMNS = ("seed", "learning_rate", "sequence_class", "iteration", "token", "attention")


def draw(table: pd.DataFrame, settings: Fig5, reference: pd.DataFrame | None = None) -> Figure:
    """One panel per learning rate."""
    rates = table["learning_rate"].unique()
    figure, panels = plt.subplots(
        1, len(rates), figsize=(4.2 * len(rates), 2.4), squeeze=False, layout="constrained"
    )
    n = table["sequence_class"].iloc[0]
    for axes, rate in zip(panels[0], rates, strict=True):
        heatmap(
            axes,
            table[table["learning_rate"] == rate],
            boundaries=settings.boundaries,
            title=rf"$c_{n}$, Adam,  $\eta_Y=\eta_Z={rate:g}$",
        )
    return figure


main = draw_command(
    draw, Fig5, title="Scan and Snap, Figure 5: attention along training with Adam", columns=COLUMNS
)

if __name__ == "__main__":
    main()
