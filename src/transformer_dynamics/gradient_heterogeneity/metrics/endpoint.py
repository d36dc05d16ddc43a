"""Loss on a fixed slice of the training set, on which optimisers are judged."""

from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import read_runs
from transformer_dynamics.gradient_heterogeneity.settings.metrics import EndpointMetricJob


def measure(job: EndpointMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each point of each run, in one row.

    Columns are those of a run, see `TrainedRun.columns`; classes (C); step (steps before), endpoint
    (cross-entropy of the slice without dropout, nats) and slice_accuracy; training_loss, the mean
    over the last of these equal parts of the batches before, NaN before the first; is_last. NaN
    once training is lost.
    """
    tables = []
    for run in read_runs(job, runs):
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
