"""Accuracy of trained runs (Tables 8 and 10)."""

from collections.abc import Iterable, Sequence
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.encoders.accuracy import matthews
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import (
    Arrays,
    Columns,
    set_data,
    trained_runs,
)
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the accuracy of every run on its validation samples and on every test set.

    Columns are those of a run; split (`validation`, `test`, or a set out of distribution), samples,
    accuracy in [0, 1] and matthews (correlation in [-1, 1]), NaN of a run that diverged.
    """
    sets, rows = set_data(job, data), []
    for run in trained_runs(job, runs):
        for split in ("validation", *run.splits):
            labels, logits = sets.labels(run, split), run.arrays[f"{split}_logits"]
            place = {"split": split, "samples": len(labels)}
            rows.append(run.columns | place | _accuracy_columns(logits, labels))
    return pd.DataFrame(rows)


def _accuracy_columns(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> Columns:
    """Return columns of [n, C] logits; a run that diverged predicts nothing."""
    if not np.isfinite(logits).all():
        return {"accuracy": nan, "matthews": nan}
    predicted = logits.argmax(axis=1)
    right = float(np.mean(predicted == labels))
    return {"accuracy": right, "matthews": matthews(predicted, labels)}
