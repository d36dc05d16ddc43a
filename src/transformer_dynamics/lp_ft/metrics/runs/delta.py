"""Errors of predictions before fine-tuning, delta_i = e_{y_i} - softmax(f_0(x_i))."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, set_data, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the mean length of the errors delta_i over the training samples of every run.

    Columns are those of a run, and delta, the mean of ||delta_i||_2 with the head that the run
    starts from; of LP that is the random one.
    """
    sets, rows = set_data(job, data), []
    for run in trained_runs(job, runs):
        phi, labels = sets.drawn_features(run, "train"), sets.drawn_labels(run, "train")
        weight, bias = (run.arrays[f"start_{name}"].astype(float) for name in ("weight", "bias"))
        error = np.eye(len(weight))[labels] - softmax(phi.astype(float) @ weight.T + bias, axis=1)
        rows.append(run.columns | {"delta": float(np.linalg.norm(error, axis=1).mean())})
    return pd.DataFrame(rows)
