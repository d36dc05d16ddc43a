"""The loss on a fixed slice of the training set, on which optimisers are judged."""

from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureEndpoint
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained


def measure(job: MeasureEndpoint, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """One row per point.

    Args:
        job: the runs, and of how many parts of their batches the last one counts.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; classes (C); step (steps before), endpoint
        (cross-entropy of the slice without dropout, nats) and slice_accuracy; training_loss, the
        mean over the last of these equal parts of the batches before, NaN before the first;
        is_last. NaN once training is lost.
    """
    tables = []
    for run in trained(job, runs):
        points, losses = run.arrays["points"], run.arrays["losses"]
        means = [np.mean(losses[p - ceil(p / job.parts) : p]) if p else np.nan for p in points]
        values = {
            "classes": int(run.arrays["classes"]),
            "step": points,
            "endpoint": run.arrays["looks"][:, 0],
            "slice_accuracy": run.arrays["looks"][:, 1],
            "training_loss": means,
            "is_last": points == points[-1],
        }
        tables.append(pd.DataFrame(run.columns | values))
    return pd.concat(tables, ignore_index=True)
