"""Change of features, and the scatter of classes in them (Tables 1, 11, 12 and 13).

The paper gives no formulas. Here

    CS(F)   = mean cosine of two different samples' features
    Diff(F) = mean_x ||phi(x) - phi_0(x)||_2
    FDR(F)  = tr((S_W + r (tr S_W/h) I)^-1 S_B)

    S_B = sum_c n_c (mu_c - mu)(mu_c - mu)^T,  S_W = sum_i (phi_i - mu_{y_i})(phi_i - mu_{y_i})^T

are the scatter between and within classes. Where n is not above h, S_W is singular and FDR noise.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.runs.trained_runs import (
    Arrays,
    Columns,
    SetData,
    TrainedRun,
    set_data,
    trained_runs,
)
from transformer_dynamics.lp_ft.settings.metrics import FeatureMetricJob

Floats = NDArray[np.float64]


def measure(job: FeatureMetricJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Measure the similarity, change and scatter of the features of every test set.

    Columns are those of a run; split (`test`, or a set out of distribution), samples;
    cosine_similarity, difference and discriminant_ratio, see above, and noise_floor of the third;
    start_norm and norm (||V||_F before and after fine-tuning). Rows of LP have the untrained
    features. NaN where a run diverged.
    """
    sets = set_data(job, data)
    rows = [
        run.columns | {"split": split} | _feature_columns(sets, run, split, job.ridge)
        for run in trained_runs(job, runs)
        for split in run.splits
    ]
    return pd.DataFrame(rows)


def _feature_columns(sets: SetData, run: TrainedRun, split: str, ridge: float) -> Columns:
    features, labels = run.arrays[f"{split}_features"], sets.labels(run, split)
    norms: Columns = {
        "start_norm": float(np.linalg.norm(run.arrays["start_weight"])),
        "norm": float(np.linalg.norm(run.arrays["weight"])),
    }
    number, width = features.shape
    floor = noise_floor(number, width, len(np.unique(labels)))
    told: Columns = {"samples": number, "noise_floor": floor}
    names = ("cosine_similarity", "difference", "discriminant_ratio")
    if not np.isfinite(features).all():
        return told | dict.fromkeys(names, float("nan")) | norms
    scatter = Scatter.of_features(features, labels)
    values = (
        cosine_similarity(features),
        difference(features, sets.untrained_features(run, split)),
        scatter.discriminant_ratio(ridge),
    )
    return told | dict(zip(names, values, strict=True)) | norms


def cosine_similarity(features: NDArray[np.floating]) -> float:
    """Return CS(F) of [n, h] features, n >= 2, none zero."""
    values = np.asarray(features, np.float64)
    directions = values / np.linalg.norm(values, axis=1, keepdims=True)
    number = len(values)
    # Of all ordered pairs, n are a sample with itself.
    return float((np.sum(directions.sum(axis=0) ** 2) - number) / (number * (number - 1)))


def difference(features: NDArray[np.floating], before: NDArray[np.floating]) -> float:
    """Return Diff(F) between features [n, h] and those before training."""
    moved = np.asarray(features, np.float64) - np.asarray(before, np.float64)
    return float(np.linalg.norm(moved, axis=1).mean())


class Scatter(NamedTuple):
    """Features around the means of their classes."""

    between: Floats
    """[h, h] Scatter S_B between classes."""
    within: Floats
    """[h, h] Scatter S_W within classes."""

    @classmethod
    def of_features(cls, features: NDArray[np.floating], labels: NDArray[np.integer]) -> "Scatter":
        """Compute the scatter of features [n, h] with classes [n]; a class may have no sample."""
        values = np.asarray(features, np.float64)
        present, inverse, numbers = np.unique(labels, return_inverse=True, return_counts=True)
        one_hot = np.eye(len(present))[inverse]
        means = (one_hot.T @ values) / numbers[:, None]
        centred = means - values.mean(axis=0)
        inner = values - means[inverse]
        return cls((centred.T * numbers) @ centred, inner.T @ inner)

    def discriminant_ratio(self, ridge: float) -> float:
        """Return FDR(F) with a ridge r, over the mean eigenvalue of S_W."""
        width = len(self.within)
        added = ridge * np.trace(self.within) / width * np.eye(width)
        return float(np.trace(np.linalg.solve(self.within + added, self.between)))


def noise_floor(samples: int, width: int, classes: int) -> float:
    """Return the mean of tr(S_W^-1 S_B) for Gaussian features that know nothing of their classes.

    It is (C - 1) h/(n - C - h - 1) if C classes occur; NaN where samples are too few for one.
    """
    left = samples - classes - width - 1
    return (classes - 1) * width / left if left > 0 else float("nan")
