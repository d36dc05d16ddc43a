"""Digests that tell runs apart."""

import hashlib
from collections.abc import Iterable, Sequence
from math import nan

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import Boards
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob


def measure(job: WeightsJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return a digest of all bits of every seed, its last loss, and eta.

    Returns:
        Columns seed, digest, loss (nats, mean of the last updates; NaN without any) and eta.
    """
    return pd.concat([fingerprint_rows(run) for run in runs], ignore_index=True)


def fingerprint_rows(run: Run) -> pd.DataFrame:
    """Return the rows of one file of runs, a seed each."""
    rows = []
    for index, seed in enumerate(run.seeds):
        own = {name: run.arrays[name][index] for name in sorted(run.arrays)}
        # Bytes in the order of the axes, however the array lies in memory.
        bits = b"".join(np.asarray(value).tobytes() for value in own.values())
        digest = hashlib.sha256(bits).hexdigest()[:16]
        last = float(own["losses"][-1]) if own["losses"].size else nan
        rows.append((seed, digest, last, float(own["eta"])))
    return pd.DataFrame(rows, columns=["seed", "digest", "loss", "eta"])
