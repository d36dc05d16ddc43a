"""Turns of the rows of the head (Sec. A.4.1, claim on Figures 5 and 6)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import Arrays, trained_runs
from transformer_dynamics.lp_ft.settings.metrics import MetricJob


def measure(job: MetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the turns of the rows v_k of the head of every run.

    Columns are those of a run; row (k) and random_cosine (of v_k in the end and in the random
    head).
    """
    rows = []
    for run in trained_runs(job, runs):
        random, end = (run.arrays[name].astype(np.float64) for name in ("random_weight", "weight"))
        lengths = np.linalg.norm(end, axis=1) * np.linalg.norm(random, axis=1)
        values = {
            "row": np.arange(len(end)),
            "random_cosine": np.sum(end * random, axis=1) / lengths,
        }
        rows.append(pd.DataFrame(run.columns | values))
    return pd.concat(rows, ignore_index=True)
