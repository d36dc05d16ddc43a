"""How far features moved, and how classes lie in them (Tables 1, 11, 12 and 13)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.feature_statistics import (
    Scatter,
    cosine_similarity,
    difference,
    noise_floor,
)
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.measures.trained import (
    Arrays,
    Columns,
    Known,
    Trained,
    known,
    trained,
)


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[Arrays]) -> pd.DataFrame:
    """Statistics of the features of every test set.

    Args:
        job: the runs.
        runs: as they were trained.
        data: tokens and features of each set in turn.

    Returns:
        Columns of a run, see `Trained.columns`; split (`test`, or a set out of distribution),
        samples; cosine_similarity, difference, discriminant_ratio and trace_ratio, see
        `feature_statistics`, and noise_floor of the third; length (mean ||phi||), start_norm and
        norm (||V||_F before and after fine-tuning). Rows of LP have the untrained features. NaN
        where a run diverged.
    """
    sets = known(job, data)
    rows = [
        run.columns | {"split": split} | _row(sets, run, split)
        for run in trained(job, runs)
        for split in run.splits
    ]
    return pd.DataFrame(rows)


def _row(sets: Known, run: Trained, split: str) -> Columns:
    features, labels = run.arrays[f"{split}_features"], sets.labels(run, split)
    norms: Columns = {
        "start_norm": float(np.linalg.norm(run.arrays["start_weight"])),
        "norm": float(np.linalg.norm(run.arrays["weight"])),
    }
    number, width = features.shape
    floor = noise_floor(number, width, len(np.unique(labels)))
    told: Columns = {"samples": number, "noise_floor": floor}
    names = ("cosine_similarity", "difference", "discriminant_ratio", "trace_ratio", "length")
    if not np.isfinite(features).all():
        return told | dict.fromkeys(names, float("nan")) | norms
    scatter = Scatter.of(features, labels)
    values = (
        cosine_similarity(features),
        difference(features, sets.before(run, split)),
        scatter.discriminant_ratio,
        scatter.trace_ratio,
        float(np.linalg.norm(features, axis=1).mean()),
    )
    return told | dict(zip(names, values, strict=True)) | norms
