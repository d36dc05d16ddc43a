"""Figure 11: recall of distinct tokens against the attention threshold, curves of ratio."""

import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig11
from transformer_dynamics.scan_and_snap.figures.recall import COLUMNS, recall_grid


def draw(table: pd.DataFrame, settings: Fig11, reference: pd.DataFrame | None = None) -> Figure:
    """One column of panels per eta_z, one curve per ratio; bands are standard deviations."""
    return recall_grid(
        table,
        across="eta_z",
        curves="ratio",
        next_tokens_per_query=settings.next_tokens_per_query,
    )


main = draw_command(
    draw, Fig11, title="Scan and Snap, Figure 11: recall of distinct tokens", columns=COLUMNS
)

if __name__ == "__main__":
    main()
