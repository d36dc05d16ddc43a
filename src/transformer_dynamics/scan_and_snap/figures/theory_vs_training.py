"""B_n(t), relative gain and growth factor: theory, population flow and training on one axis."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_dynamics.drawing import draw_command
from transformer_dynamics.scan_and_snap.figure_settings import TheoryVsTraining

COLUMNS = ("eta_y", "eta_z", "source", "quantity", "t", "value_mean", "value_std", "n_seeds")
QUANTITIES = {
    "exponent": "$B_n(t)$",
    "relative_gain": r"relative gain $r_{l_0/l|n}(t)$",
    "growth_factor": r"growth factor $\chi_{l_0}(t)$",
}
STYLES = {
    "Theorem 4": ("0.6", ":"),
    "Eq. 10": ("#7ad151", "--"),
    "Eq. 10, sampled": ("#22a884", "-."),
    "population flow, modified": ("#2a788e", (0, (8, 2, 1, 2, 1, 2))),
    "population flow": ("#414487", "-"),
}


def draw(
    table: pd.DataFrame, settings: TheoryVsTraining, reference: pd.DataFrame | None = None
) -> Figure:
    """One row per quantity, one column per pair of rates; bars are standard deviations."""
    cells = table[["eta_y", "eta_z"]].drop_duplicates().to_numpy()
    figure, panels = plt.subplots(
        len(QUANTITIES),
        len(cells),
        figsize=(3.3 * len(cells), 2.3 * len(QUANTITIES)),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for (quantity, label), row in zip(QUANTITIES.items(), panels, strict=True):
        for (eta_y, eta_z), axes in zip(cells, row, strict=True):
            chosen = (table["eta_y"] == eta_y) & (table["eta_z"] == eta_z)
            _panel(axes, table[chosen & (table["quantity"] == quantity)])
            if quantity == "exponent":
                ratio = eta_y / eta_z
                axes.set_title(rf"$\eta_Y={eta_y:g}$, $\eta_Z={eta_z:g}$, ratio {ratio:g}")
        row[0].set_ylabel(label)
        # Eq. 10 as printed leaves the other curves' range.
        others = table[(table["quantity"] == quantity) & (table["source"] != "Eq. 10")]
        row[0].set_ylim(0, 1.25 * others.loc[others["source"] != "Theorem 4", "value_mean"].max())
    for axes in panels[-1]:
        axes.set_xlabel("Time $t$ (updates)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _panel(axes: Axes, table: pd.DataFrame) -> None:
    for source, (colour, line) in STYLES.items():
        rows = table[table["source"] == source]
        axes.plot(rows["t"], rows["value_mean"], color=colour, linestyle=line, label=source)
    runs = table[table["source"] == "training"]
    axes.errorbar(
        runs["t"],
        runs["value_mean"],
        runs["value_std"],
        color="black",
        linestyle="none",
        marker="o",
        markersize=2,
        elinewidth=0.6,
        label="training",
    )


main = draw_command(
    draw,
    TheoryVsTraining,
    title="Scan and Snap: theory against training",
    columns=COLUMNS,
)

if __name__ == "__main__":
    main()
