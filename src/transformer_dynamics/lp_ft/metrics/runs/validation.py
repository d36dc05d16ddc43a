"""Validation accuracy by epoch, and the epoch that was kept."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob
from transformer_dynamics.lp_ft.training.loop import DIVERGED


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Return the validation accuracies by which rates and epochs are chosen.

    Columns are those of a run; epoch (from 1), step (number of steps before), accuracy in [0, 1],
    NaN where the run had diverged, and is_kept. LP has one row.
    """
    rows = []
    for run in trained_runs(job, runs):
        scores = run.arrays["scores"]
        epochs = np.arange(len(scores))
        values = {
            "epoch": epochs + 1,
            "step": run.arrays["evaluated"].astype(np.int64),
            "accuracy": np.where(scores == DIVERGED, np.nan, scores),
            "is_kept": epochs == run.arrays["chosen"],
        }
        rows.append(pd.DataFrame(run.columns | values))
    return pd.concat(rows, ignore_index=True)
