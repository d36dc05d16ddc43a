"""Figure 2: the four stages of training, seen on the unnormalised attention of an actual run."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import Fig2
from transformer_dynamics.scan_and_snap.figures.tokens import TOKEN_STYLES

COLUMNS = ("seed", "stage", "iteration", "token", "kind", "unnormalised_attention")
STAGES = (
    "(a) Start",
    "(b) End of scanning",
    "(c) Start of snapping",
    "(d) Long after",
)


def draw(table: pd.DataFrame, settings: Fig2, reference: pd.DataFrame | None = None) -> Figure:
    r"""One panel per stage, at 0, t_0', t_0 and a multiple of t_0; dashes show the first."""
    times = ("$t=0$", "$t=t_0'$", "$t=t_0$", f"$t={settings.frozen_after:g}\\,t_0$")
    start = table[table["stage"] == 0]
    figure, row = plt.subplots(
        1, len(STAGES), figsize=(10.5, 2.5), sharey=True, squeeze=False, layout="constrained"
    )
    positions = range(len(start))
    for stage, axes in enumerate(row[0]):
        rows = table[table["stage"] == stage]
        for kind, (colour, hatch) in TOKEN_STYLES.items():
            heights = rows["unnormalised_attention"].where(rows["kind"] == kind)
            axes.bar(positions, heights, color=colour, hatch=hatch, label=f"{kind} tokens")
        axes.step(
            [x - 0.5 for x in (*positions, len(start))],
            [*start["unnormalised_attention"], start["unnormalised_attention"].iloc[-1]],
            where="post",
            color="black",
            linewidth=0.9,
            linestyle="--",
        )
        labels = list(positions)[::5]
        axes.set_xticks(labels, [str(start["token"].iloc[i]) for i in labels])
        update = rows["iteration"].iloc[0]
        axes.set(xlabel="Token #", title=f"{STAGES[stage]}\n{times[stage]}, update {update}")
    row[0, 0].set_ylabel(r"$\tilde{c}_{l|n}$")
    row[0, 0].legend(frameon=False)
    return figure


main = draw_command(
    draw, Fig2, title="Scan and Snap, Figure 2: four stages of training", columns=COLUMNS
)

if __name__ == "__main__":
    main()
