"""Accuracy of predictions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.encoders.accuracy import matthews
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import read_runs
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure the parameters in the end: one row per run and split.

    Columns are those of a run, see `TrainedRun.columns`; split (`validation`, unless it is empty,
    `test`), samples, accuracy, matthews (correlation in [-1, 1]) and classes_predicted (their
    number).
    """
    rows = []
    for run in read_runs(job, runs):
        for split in ("validation", "test"):
            labels, found = run.arrays[f"{split}_labels"], run.arrays[f"{split}_predicted"]
            if len(labels):
                values = {
                    "split": split,
                    "samples": len(labels),
                    "accuracy": float(np.mean(found == labels)),
                    "matthews": matthews(found, labels),
                    "classes_predicted": len(np.unique(found)),
                }
                rows.append(run.columns | values)
    return pd.DataFrame(rows)
