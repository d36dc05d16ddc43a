"""How often predictions are right."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.encoders.accuracy import matthews
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """One row per run and split, of the parameters in the end.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; split (`validation`, unless it is empty, `test`),
        samples, accuracy, matthews (correlation in [-1, 1]) and classes_predicted (how many).
    """
    rows = []
    for run in trained(job, runs):
        for split in ("validation", "test"):
            labels, found = run.arrays[f"{split}_labels"], run.arrays[f"{split}_predicted"]
            if len(labels):
                rows.append(
                    run.columns
                    | {
                        "split": split,
                        "samples": len(labels),
                        "accuracy": float(np.mean(found == labels)),
                        "matthews": matthews(found, labels),
                        "classes_predicted": len(np.unique(found)),
                    }
                )
    return pd.DataFrame(rows)
