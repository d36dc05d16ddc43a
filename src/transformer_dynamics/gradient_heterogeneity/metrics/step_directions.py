"""Likeness of an optimiser's steps and signs."""

from collections.abc import Iterable, Sequence

import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import read_runs
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
from transformer_dynamics.gradient_heterogeneity.training.record import DIRECTION_SETS, DIRECTIONS


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each point after the first and set of tensors, in one row.

    Columns are those of a run, see `TrainedRun.columns`; step (its number from 1), set (`all`,
    `without_embeddings`), own_sign, the cosine of the step with its own signs, and gradient_sign,
    that with SignSGD's step.
    """
    tables = []
    for run in read_runs(job, runs):
        for place, chosen in enumerate(DIRECTION_SETS):
            cosines = dict(zip(DIRECTIONS, run.arrays["directions"][1:, place].T, strict=True))
            values = {"step": run.arrays["points"][1:], "set": chosen}
            tables.append(pd.DataFrame(run.columns | values | cosines))
    return pd.concat(tables, ignore_index=True)
