"""Validation accuracy by epoch, and which epoch was kept."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import Arrays, trained
from transformer_dynamics.lp_ft.training import LOST


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """What rates and epochs are chosen by.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; epoch (from 1), step (number of steps before),
        accuracy in [0, 1], NaN where the run had diverged, and is_kept. LP has one row.
    """
    rows = []
    for run in trained(job, runs):
        scores = run.arrays["scores"]
        epochs = np.arange(len(scores))
        values = {
            "epoch": epochs + 1,
            "step": run.arrays["evaluated"].astype(np.int64),
            "accuracy": np.where(scores == LOST, np.nan, scores),
            "is_kept": epochs == run.arrays["chosen"],
        }
        rows.append(pd.DataFrame(run.columns | values))
    return pd.concat(rows, ignore_index=True)
