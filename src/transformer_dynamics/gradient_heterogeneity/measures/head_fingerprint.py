"""What tells heads of different seeds apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureHeads


def measure(job: MeasureHeads, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a seed's heads on one set, and a few numbers.

    Args:
        job: not used.
        runs: as `heads.train` returns them.
        data: not used.

    Returns:
        Columns arm (the task), seed, digest, and of the heads in the end the mean length of V,
        norm, and the mean loss (nats).
    """
    rows = []
    for run in runs:
        name, _, _ = run.name.partition("-")
        for place, seed in enumerate(run.seeds):
            found = np.asarray(run.arrays["heads"][place])
            *_, norm, loss = found[:, :, -1].mean(axis=(0, 1))
            rows.append(
                {
                    "arm": name,
                    "seed": seed,
                    "digest": hashlib.sha256(name.encode() + found.tobytes()).hexdigest()[:16],
                    "norm": float(norm),
                    "loss": float(loss),
                }
            )
    return pd.DataFrame(rows)
