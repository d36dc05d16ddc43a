"""The length of the head along training (Figures 1 and 4)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, TrainedRun, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Return ||V||_F, ||b||, logits, loss and accuracy on training samples by step.

    Columns are those of a run; step (number of steps before), norm, bias_norm, logit_norm (the mean
    of ||f(x)||), loss (nats) and accuracy. Of LP these are points of full-batch gradient descent,
    with logits, loss and accuracy of all training samples, and falling, the share of rows of V
    whose loss falls as they become longer. Of other methods logits, loss and accuracy are those of
    the next batch, with dropout, NaN at the end; falling is NaN.
    """
    return pd.concat([_step_rows(run) for run in trained_runs(job, runs)], ignore_index=True)


def _step_rows(run: TrainedRun) -> pd.DataFrame:
    steps = run.arrays["steps"]
    columns = {
        "norm": "norms",
        "bias_norm": "bias_norms",
        "logit_norm": "logit_norms",
        "loss": "losses",
        "accuracy": "accuracies",
        "falling": "falling",
    }
    values = {}
    for column, name in columns.items():
        given = run.arrays.get(name, np.empty(0))
        values[column] = np.concatenate([given, np.full(len(steps) - len(given), np.nan)])
    return pd.DataFrame(run.columns | {"step": steps} | values)
