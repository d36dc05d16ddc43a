"""How wrong predictions are before fine-tuning: delta_i = e_{y_i} - softmax(f_0(x_i))."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.special import softmax

from replication.study.contract import Run
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import Arrays, known, trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Length of delta over the training samples.

    Args:
        job: the runs.
        runs: as they were trained.
        data: tokens and features of each set in turn.

    Returns:
        Columns of a run, see `Trained.columns`; delta, the mean of ||delta_i||_2 with the head that
        the run starts from; of LP that is the random one.
    """
    sets, rows = known(job, data), []
    for run in trained(job, runs):
        phi, labels = (sets.own(run, "train", what) for what in ("features", "labels"))
        weight, bias = (run.arrays[f"start_{name}"].astype(float) for name in ("weight", "bias"))
        error = np.eye(len(weight))[labels] - softmax(phi.astype(float) @ weight.T + bias, axis=1)
        rows.append(run.columns | {"delta": float(np.linalg.norm(error, axis=1).mean())})
    return pd.DataFrame(rows)
