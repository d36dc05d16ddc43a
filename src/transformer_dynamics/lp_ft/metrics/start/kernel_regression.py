"""Kernel regression on classes (Tables 2 and 9).

In the paper, each pair of a sample and a class is an example, whose features are its row of the
kernel, and which is positive if the class is right. Their accuracy is at least about 1 - 1/C if all
are called negative. The same scores also choose a class for each sample, the one of the largest.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import Floats, read_kernels
from transformer_dynamics.lp_ft.metrics.start.logistic_regression import fit_cross_validated
from transformer_dynamics.lp_ft.settings.metrics import RegressionMetricJob


def measure(job: RegressionMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure the accuracies of kernel regression on training and test samples.

    Columns are seed, method, kernel, strength (the chosen C), split (train or test); logit, the
    share of right pairs of sample and class; floor, that share if all pairs are called negative;
    argmax, the share of right classes; majority, that of the training samples' commonest class.
    """
    rows = []
    for start in read_kernels(runs):
        for kernel in start.kernels:
            training, classes = kernel.training, kernel.classes
            matrix = kernel.matrix
            size = training * classes
            target = one_hot(start.labels, classes)
            fit = fit_cross_validated(matrix[:size], target[:size], job.strengths, job.folds)
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
    """Return [n C] True where a sample is of a class, the sample first."""
    return np.asarray(np.eye(classes, dtype=bool)[labels].ravel())


def accuracies(scores: Floats, labels: NDArray[np.integer]) -> dict[str, float]:
    """Return accuracy per pair of sample and class, its floor, and accuracy per sample.

    Scores [n, C] are positive where a pair is called right.
    """
    classes = scores.shape[1]
    right = (scores > 0).ravel() == one_hot(labels, classes)
    return {
        "logit": float(np.mean(right)),
        "floor": 1 - 1 / classes,
        "argmax": float(np.mean(scores.argmax(axis=1) == labels)),
    }
