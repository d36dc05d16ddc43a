"""Loss and gradient along training."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import read_runs
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each step of each run, in one row.

    Columns are those of a run, see `TrainedRun.columns`; step (from 0), loss of the batch before
    the step, with dropout (nats), and grad_norm before clipping; NaN after a loss that is not
    finite.
    """
    tables = []
    for run in read_runs(job, runs):
        losses, norms = run.arrays["losses"], run.arrays["norms"]
        values = {"step": np.arange(len(losses)), "loss": losses, "grad_norm": norms}
        tables.append(pd.DataFrame(run.columns | values))
    return pd.concat(tables, ignore_index=True)
