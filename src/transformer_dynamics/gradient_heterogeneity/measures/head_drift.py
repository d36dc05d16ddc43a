"""Heads on features that stay: how far signs drive what softmax does not see, and laws of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.head_settings import HeadOptimiser, HeadsJob
from transformer_dynamics.gradient_heterogeneity.heads import LOOKED_AT
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureHeads
from transformer_dynamics.gradient_heterogeneity.theory.drift import (
    averaged_drift,
    permuted_absence_bound,
    uniform_drift,
)


def measure(
    job: MeasureHeads, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """One row per seed, optimiser, batch size and point.

    Args:
        job: which heads.
        runs: as `heads.train` returns them.
        data: tokens of each set, in the order in which `MeasureHeads.texts` names them.

    Returns:
        Columns task (the set), classes (C), optimiser, beta (of its average of gradients, 0 for
        none), rate, batch (m), seed, step (steps before); mean_bias; drift, mean_bias divided by
        the sum of rates, NaN before the first step; norms common, centred and total of V; loss of
        the slice (nats); law, what is expected at equal probabilities and uniform classes, and
        bound, what absence of classes allows SignSGD with as many samples of each class as there
        are, both NaN for optimisers that they are not of.
    """
    tables = []
    tokens = dict(zip(job.texts, data, strict=True))
    for run in runs:
        name, _, _ = run.name.partition("-")
        chosen = job.runs[name]
        classes = run.arrays["shares"].shape[1]
        labels = tokens[chosen.texts]["train_labels"]
        counts = np.bincount(labels[labels < classes], minlength=classes)
        for place, seed in enumerate(run.seeds):
            points = run.arrays["points"][place]
            for i, optimiser in enumerate(chosen.optimisers):
                for j, size in enumerate(chosen.batch_sizes):
                    values = dict(zip(LOOKED_AT, run.arrays["heads"][place, i, j].T, strict=True))
                    moved = np.where(points > 0, points * chosen.rate, np.nan)
                    expected = laws(optimiser, size, counts)
                    tables.append(
                        pd.DataFrame(
                            _columns(chosen, optimiser, classes)
                            | {"batch": size, "seed": seed, "step": points}
                            | {"drift": values["mean_bias"] / moved}
                            | values
                            | expected
                        )
                    )
    return pd.concat(tables, ignore_index=True)


def _columns(job: HeadsJob, optimiser: HeadOptimiser, classes: int) -> dict[str, str | float]:
    return {
        "task": job.texts,
        "classes": classes,
        "optimiser": optimiser.name,
        "beta": optimiser.beta,
        "rate": job.rate,
    }


def laws(optimiser: HeadOptimiser, batch: int, counts: NDArray[np.int64]) -> dict[str, float]:
    """Columns law and bound.

    Args:
        optimiser: which.
        batch: m.
        counts: [C] samples of each class.
    """
    classes = len(counts)
    law = bound = np.nan
    if optimiser.name in {"sgd", "sgd_momentum"}:
        law = 0.0
    elif optimiser.name == "signsgd":
        law, bound = uniform_drift(classes, batch), permuted_absence_bound(counts, batch)
    elif optimiser.name == "signum":
        law = averaged_drift(classes, batch, optimiser.momentum)
    return {"law": law, "bound": bound}
