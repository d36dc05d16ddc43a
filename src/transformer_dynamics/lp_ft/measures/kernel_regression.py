"""Kernel regression: how well kernels tell classes (Tables 2 and 9).

In the paper, each pair of a sample and a class is an example, whose features are its row of the
kernel, and which is positive if the class is right. Their accuracy is at least about 1 - 1/C if all
are called negative. The same scores also choose a class for each sample, the one of the largest.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.lp_ft.kernel_settings import RegressionJob
from transformer_dynamics.lp_ft.logistic import cross_validated
from transformer_dynamics.lp_ft.measures.kernel_matrices import Floats, starts


def measure(job: RegressionJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Accuracies on training and test samples.

    Args:
        job: C to choose from, and the number of folds.
        runs: kernels.
        data: not used.

    Returns:
        Columns seed, method, kernel, strength (the chosen C), split (train or test); logit, the
        share of right pairs of sample and class; floor, the same if all pairs are called negative;
        argmax, the share of right classes; majority, that of the training samples' commonest class.
    """
    rows = []
    for start in starts(runs):
        for kernel in start.kernels:
            training, classes = kernel.training, kernel.classes
            matrix = kernel.matrix
            size = training * classes
            target = one_hot(start.labels, classes)
            fit = cross_validated(matrix[:size], target[:size], job.strengths, job.folds)
            scores = fit.scores(matrix)
            commonest = np.bincount(start.labels[:training]).argmax()
            for split, part in (("train", slice(0, training)), ("test", slice(training, None))):
                labels = start.labels[part]
                if not len(labels):
                    continue
                own = scores.reshape(-1, classes)[part]
                row = {"seed": kernel.seed, "method": kernel.method, "kernel": kernel.name}
                row |= {"strength": fit.strength, "split": split} | accuracies(own, labels)
                rows.append(row | {"majority": float(np.mean(labels == commonest))})
    return pd.DataFrame(rows)


def one_hot(labels: NDArray[np.integer], classes: int) -> NDArray[np.bool_]:
    """[n C] whether each sample is of each class, the sample first."""
    return np.asarray(np.eye(classes, dtype=bool)[labels].ravel())


def accuracies(scores: Floats, labels: NDArray[np.integer]) -> dict[str, float]:
    """Per pair of sample and class, its floor, and per sample.

    Args:
        scores: [n, C], positive where a pair is called right.
        labels: [n].
    """
    classes = scores.shape[1]
    right = (scores > 0).ravel() == one_hot(labels, classes)
    return {
        "logit": float(np.mean(right)),
        "floor": 1 - 1 / classes,
        "argmax": float(np.mean(scores.argmax(axis=1) == labels)),
    }
