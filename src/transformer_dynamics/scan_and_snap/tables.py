"""From metrics to the tables that are drawn: exactly one row per drawn value."""

import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.experiments import MeasureJob
from transformer_dynamics.scan_and_snap.figure_settings import Fig2, Fig4, Fig5, FromRuns
from transformer_dynamics.scan_and_snap.theory.decoder import scanning_end, snapping_start

CELL = ["num_last", "eta_z", "ratio"]


def figure_table(settings: FromRuns, metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """The table of a figure.

    Args:
        settings: the figure's settings.
        metrics: the table of the metric that the figure shows, one row per seed and value.
        job: the job that made the metrics.

    Returns:
        The columns that the drawing of the figure expects, sorted.

    Raises:
        InputError: if a time that the figure shows was not recorded.
    """
    if isinstance(settings, Fig2):
        return _fig2(settings, metrics, job)
    if isinstance(settings, Fig4):
        return _fig4(settings, metrics)
    if isinstance(settings, Fig5):
        return _fig5(settings, metrics)
    final = metrics[metrics["iteration"] == metrics["iteration"].max()]
    keys = [*CELL, "threshold"] if settings.metric == "recall" else CELL
    return mean_and_std(final, keys, job)


def _fig2(settings: Fig2, metrics: pd.DataFrame, job: MeasureJob) -> pd.DataFrame:
    """The four stages at 0, t_0' = K ln M/eta_Y, t_0 and a multiple of t_0 (Lemma 9)."""
    (mixture,) = job.mixtures.values()
    eta_z, ratio = job.training.cells[0]
    sizes = mixture.vocabulary_size, mixture.num_classes
    start = snapping_start(eta_z * ratio, *sizes)
    times = [0, scanning_end(eta_z * ratio, *sizes), start, settings.frozen_after * start]
    stages = {round(time): stage for stage, time in enumerate(times)}
    if len(stages) < len(times):
        raise InputError(
            f"experiment '{settings.experiment}' passes two of the theory's times in one update;"
            " lower its eta_z or ratio"
        )
    absent = sorted(stages.keys() - set(job.recorded))
    if absent:
        raise InputError(
            f"experiment '{settings.experiment}' must record update {absent[0]} (a time of the"
            " theory); set its training.recorded or sampling.steps"
        )
    rows = _drawn(metrics, settings.seed, list(stages), [settings.sequence_class])
    rows = rows[(rows["eta_z"] == eta_z) & (rows["ratio"] == ratio)]
    rows = rows[rows["unnormalised_attention"] > 0].assign(stage=rows["iteration"].map(stages))
    kind = rows["token"].lt(len(mixture.common_weights)).map({True: "common", False: "distinct"})
    rows = rows.assign(kind=kind)
    columns = ["seed", "stage", "iteration", "token", "kind", "unnormalised_attention"]
    return rows[columns].sort_values(["stage", "token"], ignore_index=True)


def _fig4(settings: Fig4, metrics: pd.DataFrame) -> pd.DataFrame:
    rows = _drawn(metrics, settings.seed, settings.iterations, settings.sequence_classes)
    rows = rows.assign(eta_y=rows["eta_z"] * rows["ratio"])
    keys = ["seed", "eta_y", "eta_z", "sequence_class", "iteration", "token"]
    return rows[[*keys, "attention"]].sort_values(keys, ignore_index=True)


def _fig5(settings: Fig5, metrics: pd.DataFrame) -> pd.DataFrame:
    """Only the class's own support is drawn, where attention is not zero."""
    rows = _drawn(metrics, settings.seed, settings.iterations, [settings.sequence_class])
    rows = rows[rows["attention"] > 0].rename(columns={"eta_z": "learning_rate"})
    keys = ["seed", "learning_rate", "sequence_class", "iteration", "token"]
    return rows[[*keys, "attention"]].sort_values(keys, ignore_index=True)


def _drawn(
    metrics: pd.DataFrame, seed: int, iterations: list[int], classes: list[int]
) -> pd.DataFrame:
    return metrics[
        (metrics["seed"] == seed)
        & metrics["iteration"].isin(iterations)
        & metrics["sequence_class"].isin(classes)
    ]


def mean_and_std(metrics: pd.DataFrame, keys: list[str], job: MeasureJob) -> pd.DataFrame:
    """Mean and sample standard deviation (n - 1) over seeds; with one seed the latter is empty.

    Args:
        metrics: one row per seed and value.
        keys: columns that tell the values of one seed apart.
        job: the job that made the metrics.
    """
    table = metrics.groupby(keys, as_index=False).agg(
        **{
            f"{job.metric}_mean": (job.metric, "mean"),
            f"{job.metric}_std": (job.metric, "std"),
            "n_seeds": ("seed", "nunique"),
        }
    )
    return table.assign(stream=job.sampling.stream)
