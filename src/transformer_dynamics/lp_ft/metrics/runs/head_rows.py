"""Turns of the rows of the head (Sec. A.4.1, claim on Figures 5 and 6)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the turns and lengths of the rows v_k of the head of every run.

    Returns:
        Columns of a run; row (k), cosine (of v_k at the end and before
        fine-tuning), random_cosine (of v_k at the end and in the random head of the seed),
        start_length and length (||v_k|| before and after).
    """
    rows = []
    for run in trained_runs(job, runs):
        random, start, end = (
            run.arrays[f"{name}weight"].astype(np.float64) for name in ("random_", "start_", "")
        )
        values = {
            "cosine": _cosines(end, start),
            "random_cosine": _cosines(end, random),
            "start_length": np.linalg.norm(start, axis=1),
            "length": np.linalg.norm(end, axis=1),
        }
        rows.append(pd.DataFrame(run.columns | {"row": np.arange(len(end))} | values))
    return pd.concat(rows, ignore_index=True)


def _cosines(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(np.sum(first * second, axis=1) / lengths)
