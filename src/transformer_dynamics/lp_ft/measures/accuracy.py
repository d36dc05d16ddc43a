"""How often predictions are right (Tables 8 and 10)."""

from collections.abc import Iterable, Sequence
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.encoders.accuracy import matthews
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import Arrays, Columns, known, trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Accuracy of every run on its validation samples and on every test set.

    Args:
        job: the runs.
        runs: as they were trained.
        data: tokens and features of each set in turn.

    Returns:
        Columns of a run, see `Trained.columns`; split (`validation`, `test`, or a set out of
        distribution), samples, accuracy in [0, 1], matthews (correlation in [-1, 1]),
        classes_predicted (how many) and is_constant (whether one class is predicted only). Of a
        run that diverged accuracy and matthews are NaN, and no class is predicted.
    """
    sets, rows = known(job, data), []
    for run in trained(job, runs):
        for split in ("validation", *run.splits):
            labels, logits = sets.labels(run, split), run.arrays[f"{split}_logits"]
            told = {"split": split, "samples": len(labels)}
            rows.append(run.columns | told | _of_predictions(logits, labels))
    return pd.DataFrame(rows)


def _of_predictions(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> Columns:
    """Columns of [n, C] logits; a run that diverged predicts nothing."""
    if not np.isfinite(logits).all():
        return {"accuracy": nan, "matthews": nan, "classes_predicted": 0, "is_constant": False}
    predicted = logits.argmax(axis=1)
    classes = len(np.unique(predicted))
    return {
        "accuracy": float(np.mean(predicted == labels)),
        "matthews": matthews(predicted, labels),
        "classes_predicted": classes,
        "is_constant": classes == 1,
    }
