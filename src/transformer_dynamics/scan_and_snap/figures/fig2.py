"""Figure 2: the four stages of training, seen on the unnormalised attention of an actual run."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.base.errors import InputError
from replication.base.strict import Counts
from replication.figures.panels import legend_below, make_panels
from replication.study.contract import ExperimentFigure, Measured
from transformer_dynamics.scan_and_snap.figures.elements import (
    TOKEN_STYLES,
    draw_token_bars,
    select_rows,
)
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

STAGES = (
    "(a) \N{LEFT DOUBLE QUOTATION MARK}Initialization\N{RIGHT DOUBLE QUOTATION MARK}\n",
    "(b) \N{LEFT DOUBLE QUOTATION MARK}Common token\nsuppression\N{RIGHT DOUBLE QUOTATION MARK}",
    "(c) \N{LEFT DOUBLE QUOTATION MARK}Winners-\ntake-all\N{RIGHT DOUBLE QUOTATION MARK}",
    "(d) \N{LEFT DOUBLE QUOTATION MARK}Attention\nfrozen\N{RIGHT DOUBLE QUOTATION MARK}",
)
"""The paper's names of the stages, which claims of their own judge."""
LEAST_CHANGE, LARGEST_CHANGE = 0.001, 1.0
"""Changes below which their axis is linear, and at which it ends."""


class Fig2(ExperimentFigure):
    """Unnormalised attention of a run at the times that the theory singles out."""

    metrics: ClassVar[tuple[str, ...]] = ("unnormalised_attention",)
    title: ClassVar[str] = "Scan and Snap, Figure 2: four stages of training"
    columns: ClassVar[tuple[str, ...]] = (
        "seed", "sequence_class", "stage", "iteration", "token", "kind", "start",
        "unnormalised_attention", "change",
    )  # fmt: skip
    kind: Literal["fig2"]
    """Kind of the figure."""
    seed: int
    """Seed that is drawn."""
    sequence_classes: Counts
    """Sequence classes n = 1, 2, ... that are drawn, one row each."""
    frozen_after: float = Field(default=4, gt=1)
    """Time of the last stage, in units of t_0."""


def table(figure: Fig2, measured: Measured[MetricJob]) -> "pd.DataFrame":
    """Return the four stages at 0, t_0' = K ln M/eta_Y, t_0 and a multiple of t_0 (Lemma 9)."""
    from transformer_dynamics.scan_and_snap.theory.decoder import scanning_end, snapping_start

    (mixture,) = measured.job.mixtures.values()
    eta_z, ratio = measured.job.training.cells[0]
    sizes = mixture.vocabulary_size, mixture.num_classes
    start = snapping_start(eta_z * ratio, *sizes)
    times = [0, scanning_end(eta_z * ratio, *sizes), start, figure.frozen_after * start]
    stages = {round(time): stage for stage, time in enumerate(times)}
    if len(stages) < len(times):
        raise InputError(
            f"experiment '{figure.experiment}' passes two of the theory's times in one update;"
            " lower its eta_z or ratio"
        )
    absent = sorted(stages.keys() - set(measured.job.recorded))
    if absent:
        raise InputError(
            f"experiment '{figure.experiment}' must record {', '.join(map(str, absent))} (times of"
            " the theory, in updates); set its training.recorded or sampling.steps"
        )
    rows = select_rows(measured.table, figure.seed, list(stages), figure.sequence_classes)
    rows = rows[(rows["eta_z"] == eta_z) & (rows["ratio"] == ratio)]
    rows = rows[rows["unnormalised_attention"] > 0].assign(stage=rows["iteration"].map(stages))
    rows = rows.sort_values(["sequence_class", "stage", "token"], ignore_index=True)
    kind = rows["token"].lt(len(mixture.common_weights)).map({True: "common", False: "distinct"})
    of_token = rows.groupby(["sequence_class", "token"])["unnormalised_attention"]
    first = of_token.transform("first")
    change = rows["unnormalised_attention"] / first - 1
    return rows.assign(kind=kind, start=first, change=change)[list(figure.columns)]


def draw(figure: Fig2, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw one column per stage, at 0, t_0', t_0 and a multiple of t_0, and a row per class.

    Dashes show the first stage. Below stands the change since then, of all classes.
    """
    times = ("$t=0$", "$t=t_0'$", "$t=t_0$", f"$t={figure.frozen_after:g}\\,t_0$")
    classes = table["sequence_class"].unique()
    drawing, panels = make_panels(
        len(classes) + 1, len(STAGES), 1.9 + 1.0 * len(classes), sharex="row", sharey="row",
        height_ratios=[*[1] * len(classes), 1.3],
    )  # fmt: skip
    for row, n in zip(panels, classes, strict=False):
        of_class = table[table["sequence_class"] == n]
        for stage, axes in enumerate(row):
            _draw_panel(axes, of_class[of_class["stage"] == stage])
        row[0].set_ylabel(rf"class $(m,n_{n})$" "\n" rf"$\tilde{{c}}_{{l|n_{n}}}$")
    updates = table.groupby("stage")["iteration"].first()
    for axes, name, time, update in zip(panels[0], STAGES, times, updates, strict=True):
        axes.set_title(f"{name}\n{time}, update {update}", fontsize="small")
    for axes in panels[-2]:
        axes.set_xlabel("Token #")
    for stage, axes in enumerate(panels[-1]):
        _draw_change(axes, table[table["stage"] == stage])
    panels[-1, 0].set_ylabel("change since the\nstart (%)")
    note = f"one run, seed {table['seed'].iloc[0]}; in quotes: the paper's words"
    legend_below(drawing, title=note)
    return drawing


def _draw_panel(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw bars of one class at one stage, side by side, and the outline of the start."""
    positions = range(len(rows))
    for kind in TOKEN_STYLES:
        shown = rows["unnormalised_attention"].where(rows["kind"] == kind)
        draw_token_bars(axes, kind, positions, shown)
    edges = [position - 0.5 for position in (*positions, len(rows))]
    steps = [*rows["start"], rows["start"].iloc[-1]]
    axes.step(edges, steps, "--", where="post", color="black", linewidth=0.8, label="start")
    tokens = list(rows["token"])
    for place in positions[1:]:
        if tokens[place] > tokens[place - 1] + 1:
            _draw_break(axes, place - 0.5)
    labels = list(positions)[::5]
    axes.set_xticks(labels, [str(rows["token"].iloc[i]) for i in labels])


def _draw_change(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw the change of each token in the order of the bars: a circle of each class."""
    from replication.figures.typeset import number

    for (kind, (colour, _)), marker in zip(TOKEN_STYLES.items(), "so", strict=True):
        for _, of_class in rows.groupby("sequence_class"):
            change = of_class["change"].where(of_class["kind"] == kind)
            axes.plot(
                range(len(change)), change, marker, color=colour, markersize=2.6,
                markerfacecolor="none", markeredgewidth=0.6,
            )  # fmt: skip
    axes.axhline(0, color="black", linestyle="--", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=LEAST_CHANGE)
    ticks = [sign * LEAST_CHANGE * 10**power for power in (0, 1, 2) for sign in (-1, 1)]
    axes.set_yticks([0, *ticks], [number(100 * tick) for tick in (0, *ticks)])
    axes.set_yticks([], minor=True)
    axes.set(ylim=(-LARGEST_CHANGE, LARGEST_CHANGE), xlabel="tokens in the\norder of the bars")
    axes.set_xticks([])


def _draw_break(axes: "Axes", place: float) -> None:
    """Draw two strokes through the axis, where it leaves out tokens."""
    axes.text(
        place, 0, "//", fontsize=7, ha="center", va="center", transform=axes.get_xaxis_transform(),
    )  # fmt: skip
