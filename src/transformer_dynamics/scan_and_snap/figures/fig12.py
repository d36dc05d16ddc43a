"""Figure 12: recall of distinct tokens against the attention threshold, curves of eta_z."""

import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig12
from transformer_dynamics.scan_and_snap.figures.recall import COLUMNS, recall_grid


def draw(table: pd.DataFrame, settings: Fig12, reference: pd.DataFrame | None = None) -> Figure:
    """One column of panels per ratio, one curve per eta_z; bands are standard deviations."""
    return recall_grid(
        table,
        across="ratio",
        curves="eta_z",
        next_tokens_per_query=settings.next_tokens_per_query,
    )


main = draw_command(
    draw, Fig12, title="Scan and Snap, Figure 12: recall of distinct tokens", columns=COLUMNS
)

if __name__ == "__main__":
    main()
