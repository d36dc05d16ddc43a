"""The head along the training of whole networks."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import read_runs
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
from transformer_dynamics.gradient_heterogeneity.training.record import POINT_COLUMNS, rate_share


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each point of each run, in one row.

    Columns are those of a run, see `TrainedRun.columns`; step (steps before), mean_bias, drift
    (mean_bias divided by the sum of rates so far; NaN before the first step), and norms common,
    centred and total of V.
    """
    tables = []
    for run in read_runs(job, runs):
        training, points = run.job.training, run.arrays["points"]
        shares = [
            rate_share(training.schedule, t, training.steps, training.warm_up)
            for t in range(training.steps)
        ]
        rates = training.rate * np.concatenate([[0.0], np.cumsum(shares)])[points]
        looks = dict(zip(POINT_COLUMNS, run.arrays["looks"].T, strict=True))
        drift = np.divide(
            looks["mean_bias"], rates, out=np.full(len(points), np.nan), where=rates > 0
        )
        values = {"step": points, "mean_bias": looks["mean_bias"], "drift": drift}
        norms = {name: looks[name] for name in ("common", "centred", "total")}
        tables.append(pd.DataFrame(run.columns | values | norms))
    return pd.concat(tables, ignore_index=True)
