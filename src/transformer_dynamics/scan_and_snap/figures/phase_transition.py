"""The time at which the growth of distinct tokens turns in training, against the theory's."""

from typing import TYPE_CHECKING, ClassVar, Literal

from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import spread_note
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob, MetricSettings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

PREDICTIONS = {"gamma_peak": r"peak of $\gamma(t)$", "scanning_end": "$t_0'$"}
MIXTURE = ["num_last", "num_classes", "vocabulary_size"]
POWERS = {"as_power_1": -1.0, "as_power_075": -0.75}
"""Powers of eta_Y as which the turn would go from its time at the smallest eta_Y on."""


class PhaseTransition(ExperimentFigure):
    """The time at which the growth of distinct tokens turns, against the theory's times."""

    metrics: ClassVar[tuple[str, ...]] = ("growth",)
    title: ClassVar[str] = "Scan and Snap: phase transition in training"
    columns: ClassVar[tuple[str, ...]] = (
        "num_last", "num_classes", "vocabulary_size", "eta_y", "eta_z", "gamma_peak",
        "scanning_end", "turn_mean", "turn_std", "n_seeds", *POWERS,
    )  # fmt: skip
    uses: ClassVar[tuple[str, ...]] = ("metrics",)
    kind: Literal["phase_transition"]
    """Kind of the figure, which has one marker per mixture."""


def table(
    figure: PhaseTransition, measured: Measured[MetricJob], metrics: MetricSettings
) -> "pd.DataFrame":
    """Return time at which dB_n/dt = eta_Z xi_n is largest, against eta_Y, gamma's peak and t_0'.

    Times are in updates.
    """
    import pandas as pd

    from transformer_dynamics.scan_and_snap.claims.tables import turns
    from transformer_dynamics.scan_and_snap.theory.decoder import gamma_peak, scanning_end

    job = measured.job
    cells = turns(measured, metrics).groupby(["mixture", "eta_y", "eta_z"])["turn"]
    rows = []
    for cell in cells.agg(["mean", "std", "count"]).reset_index().to_dict("records"):
        mixture, eta_y = job.mixtures[cell["mixture"]], cell["eta_y"]
        sizes = mixture.vocabulary_size, mixture.num_classes
        times = gamma_peak(eta_y, *sizes), scanning_end(eta_y, *sizes)
        found = cell["mean"], cell["std"], cell["count"]
        rows.append((mixture.num_last, *sizes[::-1], eta_y, cell["eta_z"], *times, *found))
    columns = [column for column in figure.columns if column not in POWERS]
    table = pd.DataFrame(rows, columns=columns)
    table = table.sort_values([*MIXTURE, "eta_y"], ignore_index=True)
    first = table.groupby(MIXTURE)[["eta_y", "turn_mean"]].transform("first")
    faster = table["eta_y"] / first["eta_y"]
    return table.assign(**{name: first["turn_mean"] * faster**p for name, p in POWERS.items()})


def draw(figure: PhaseTransition, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw the turn against eta_Y, with lines of two powers, gamma's peak and t_0'.

    One line per K and M, bars are deviations; the dashed diagonals are equality.
    """
    from replication.figures.style import category_styles

    drawing, [row] = make_panels(1, 3, 2.7, sharey=True)
    mixtures = table.groupby(MIXTURE)
    for (mixture, rows), (_, style) in zip(mixtures, category_styles(mixtures.groups), strict=True):
        for axes, column in zip(row, ["eta_y", *PREDICTIONS], strict=True):
            axes.plot(
                rows[column], rows["turn_mean"], marker=style.marker, color=style.colour,
                markersize=3, linewidth=0.8, label="$K={1}$, $M={2}$".format(*mixture),
            )  # fmt: skip
            axes.errorbar(
                rows[column], rows["turn_mean"], rows["turn_std"], fmt="none", ecolor=style.colour
            )
    for _, rows in mixtures:
        for (name, power), line in zip(POWERS.items(), (":", "--"), strict=True):
            label = rf"as $\eta_Y^{{{power:g}}}$"
            row[0].plot(rows["eta_y"], rows[name], line, color="black", linewidth=0.8, label=label)
    every = table[["turn_mean", *PREDICTIONS]]
    limits = [every.min().min() / 1.3, every.max().max() * 1.3]
    for axes, label in zip(row[1:], PREDICTIONS.values(), strict=True):
        axes.axline((1, 1), slope=1, color="black", linewidth=0.8, linestyle="-.", label="equal")
        axes.set(xscale="log", xlim=limits, aspect="equal", xlabel=f"predicted: {label}")
    rates = sorted(table["eta_y"].unique())
    row[0].set(xscale="log", yscale="log", ylim=limits, xlabel=r"$\eta_Y$")
    row[0].set_xticks(rates, [f"{rate:g}" for rate in rates])
    row[0].set_xticks([], minor=True)
    row[0].set_box_aspect(1)
    row[0].set_ylabel("measured: time of\n" r"the largest $\mathrm{d}B_n/\mathrm{d}t$")
    legend_below(drawing, title=f"means, {spread_note(table)}", ncols=3)
    return drawing
