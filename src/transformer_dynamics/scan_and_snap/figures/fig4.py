"""Figure 4: c_n along training with SGD on Syn-Small."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig4
from transformer_dynamics.scan_and_snap.figures.heatmaps import heatmap

COLUMNS = ("seed", "eta_y", "eta_z", "sequence_class", "iteration", "token", "attention")


def draw(table: pd.DataFrame, settings: Fig4, reference: pd.DataFrame | None = None) -> Figure:
    """One row of panels per sequence class, one column per pair of learning rates."""
    cells = table[["eta_y", "eta_z"]].drop_duplicates().to_numpy()
    classes = table["sequence_class"].unique()
    size = (4.6 * len(cells), 2.2 * len(classes))
    figure, panels = plt.subplots(
        len(classes), len(cells), figsize=size, squeeze=False, layout="constrained"
    )
    for row, n in zip(panels, classes, strict=True):
        for axes, (eta_y, eta_z) in zip(row, cells, strict=True):
            rows = table[
                (table["sequence_class"] == n)
                & (table["eta_y"] == eta_y)
                & (table["eta_z"] == eta_z)
            ]
            heatmap(
                axes,
                rows,
                boundaries=settings.boundaries,
                title=rf"$c_{n}$,  $\eta_Y={eta_y:g}$, $\eta_Z={eta_z:g}$",
            )
    return figure


main = draw_command(
    draw, Fig4, title="Scan and Snap, Figure 4: attention along training with SGD", columns=COLUMNS
)

if __name__ == "__main__":
    main()
