"""Drift of heads on features that stay under signs, beside the laws of this drift."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadOptimiser
from transformer_dynamics.gradient_heterogeneity.settings.metrics import HeadsMetricJob
from transformer_dynamics.gradient_heterogeneity.theory.drift import (
    averaged_drift,
    permuted_absence_bound,
    uniform_drift,
)
from transformer_dynamics.gradient_heterogeneity.training.record import HEAD_COLUMNS


def measure(
    job: HeadsMetricJob, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """Measure each seed, optimiser, batch size and point of runs of `training.heads`, in one row.

    The data are tokens of each set, in the order in which `HeadsMetricJob.texts` names them.
    Columns are task (the set), classes (C), optimiser, beta (of its average of gradients, 0 for
    none), rate, batch (m), seed, step (steps before); drift, mean_bias divided by the sum of rates,
    NaN before the first step; mean_bias; norms common, centred and total of V; loss of the slice
    (nats); law, the drift at equal probabilities and uniform classes, and bound, the drift that
    absence of classes allows SignSGD with as many samples of each class as there are, both NaN for
    optimisers that they are not of.
    """
    tables = []
    tokens = dict(zip(job.texts, data, strict=True))
    for run in runs:
        heads = job.runs[run.name.partition("-")[0]]
        classes = run.arrays["shares"].shape[1]
        labels = tokens[heads.texts]["train_labels"]
        counts = np.bincount(labels[labels < classes], minlength=classes)
        for place, seed in enumerate(run.seeds):
            points = run.arrays["points"][place]
            moved = np.where(points > 0, points * heads.rate, np.nan)
            for i, optimiser in enumerate(heads.optimisers):
                for j, size in enumerate(heads.batch_sizes):
                    values = dict(
                        zip(HEAD_COLUMNS, run.arrays["heads"][place, i, j].T, strict=True)
                    )
                    columns = {
                        "task": heads.texts,
                        "classes": classes,
                        "optimiser": optimiser.name,
                        "beta": optimiser.beta,
                        "rate": heads.rate,
                        "batch": size,
                        "seed": seed,
                        "step": points,
                        "drift": values["mean_bias"] / moved,
                    }
                    laws = drift_laws(optimiser, size, counts)
                    tables.append(pd.DataFrame(columns | values | laws))
    return pd.concat(tables, ignore_index=True)


def drift_laws(optimiser: HeadOptimiser, batch: int, counts: NDArray[np.int64]) -> dict[str, float]:
    """Return the columns law and bound, for `counts` [C] samples of each class and a batch of m."""
    classes = len(counts)
    law = bound = np.nan
    if optimiser.name in {"sgd", "sgd_momentum"}:
        law = 0.0
    elif optimiser.name == "signsgd":
        law, bound = uniform_drift(classes, batch), permuted_absence_bound(counts, batch)
    elif optimiser.name == "signum":
        law = averaged_drift(classes, batch, optimiser.momentum)
    return {"law": law, "bound": bound}
