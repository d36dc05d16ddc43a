"""Figure 2: the four stages of training, seen on the unnormalised attention of an actual run."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from replication.errors import InputError
from replication.study import Measured
from transformer_dynamics.scan_and_snap.figures.base import TOKEN_STYLES, OfRuns, SequenceClass
from transformer_dynamics.scan_and_snap.measure_settings import MeasureJob, Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

STAGES = ("(a) Start", "(b) End of scanning", "(c) Start of snapping", "(d) Long after")


class Fig2(OfRuns):
    """Unnormalised attention of a run at the times that the theory singles out."""

    metric: ClassVar[Metric] = "unnormalised_attention"
    title: ClassVar[str] = "Scan and Snap, Figure 2: four stages of training"
    columns: ClassVar[tuple[str, ...]] = (
        "seed", "stage", "iteration", "token", "kind", "unnormalised_attention",
    )  # fmt: skip
    drawing: Literal["fig2"]
    """Which drawing."""
    seed: int
    """The seed that is drawn."""
    sequence_class: SequenceClass
    """Sequence class n = 1, 2, ... that is drawn."""
    frozen_after: float = Field(default=4, gt=1)
    """Time of the last stage, in units of t_0."""


def table(figure: Fig2, measured: Measured[MeasureJob]) -> "pd.DataFrame":
    """The four stages at 0, t_0' = K ln M/eta_Y, t_0 and a multiple of t_0 (Lemma 9)."""
    from transformer_dynamics.scan_and_snap.tables import drawn
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
    rows = drawn(measured.table, figure.seed, list(stages), [figure.sequence_class])
    rows = rows[(rows["eta_z"] == eta_z) & (rows["ratio"] == ratio)]
    rows = rows[rows["unnormalised_attention"] > 0].assign(stage=rows["iteration"].map(stages))
    kind = rows["token"].lt(len(mixture.common_weights)).map({True: "common", False: "distinct"})
    rows = rows.assign(kind=kind)[list(figure.columns)]
    return rows.sort_values(["stage", "token"], ignore_index=True)


def draw(figure: Fig2, table: "pd.DataFrame", published: None = None) -> "Drawing":
    r"""One panel per stage, at 0, t_0', t_0 and a multiple of t_0; dashes show the first."""
    import matplotlib.pyplot as plt

    times = ("$t=0$", "$t=t_0'$", "$t=t_0$", f"$t={figure.frozen_after:g}\\,t_0$")
    start = table[table["stage"] == 0]
    drawing, row = plt.subplots(1, 4, figsize=(10.5, 2.5), sharey=True, layout="constrained")
    positions = range(len(start))
    for stage, axes in enumerate(row):
        rows = table[table["stage"] == stage]
        for kind, (colour, hatch) in TOKEN_STYLES.items():
            heights = rows["unnormalised_attention"].where(rows["kind"] == kind)
            axes.bar(positions, heights, color=colour, hatch=hatch, label=f"{kind} tokens")
        edges, first = [x - 0.5 for x in (*positions, len(start))], start["unnormalised_attention"]
        steps = [*first, first.iloc[-1]]
        axes.step(edges, steps, "--", where="post", color="black", linewidth=0.9)
        labels = list(positions)[::5]
        axes.set_xticks(labels, [str(start["token"].iloc[i]) for i in labels])
        update = rows["iteration"].iloc[0]
        axes.set(xlabel="Token #", title=f"{STAGES[stage]}\n{times[stage]}, update {update}")
    row[0].set_ylabel(r"$\tilde{c}_{l|n}$")
    row[0].legend(frameon=False)
    return drawing
