"""How often predictions are right (Tables 8 and 10)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study import Run
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import Arrays, known, trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Accuracy of every run on its validation samples and on every test set.

    Args:
        job: the runs.
        runs: as they were trained.
        data: tokens and features of each set in turn.

    Returns:
        Columns of a run, see `Trained.columns`; split (`validation`, `test`, or a set out of
        distribution), samples, accuracy in [0, 1], matthews (correlation in [-1, 1]),
        classes_predicted (how many) and is_constant (whether one class is predicted only).
    """
    sets, rows = known(job, data), []
    for run in trained(job, runs):
        for split in ("validation", *run.splits):
            labels = sets.labels(run, split)
            predicted = run.arrays[f"{split}_logits"].argmax(axis=1)
            classes = len(np.unique(predicted))
            rows.append(
                run.columns
                | {
                    "split": split,
                    "samples": len(labels),
                    "accuracy": float(np.mean(predicted == labels)),
                    "matthews": matthews(predicted, labels),
                    "classes_predicted": classes,
                    "is_constant": classes == 1,
                }
            )
    return pd.DataFrame(rows)


def matthews(predicted: NDArray[np.integer], labels: NDArray[np.integer]) -> float:
    """Matthews' correlation for any number of classes; 0 for a constant predictor.

        (c n - sum_k p_k t_k)/sqrt((n^2 - sum_k p_k^2)(n^2 - sum_k t_k^2))

    with c right ones of n, and p_k predictions and t_k samples of class k.

    Args:
        predicted: [n].
        labels: [n].
    """
    number, classes = len(labels), int(max(predicted.max(), labels.max())) + 1
    p, t = (np.bincount(values, minlength=classes).astype(float) for values in (predicted, labels))
    spread = np.sqrt((number**2 - p @ p) * (number**2 - t @ t))
    right = float(np.sum(predicted == labels))
    return float((right * number - p @ t) / spread) if spread > 0 else 0.0
