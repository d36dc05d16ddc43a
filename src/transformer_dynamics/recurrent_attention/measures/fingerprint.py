"""What tells runs apart."""

import hashlib
from collections.abc import Iterable, Sequence
from math import nan

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import WeightsJob
from transformer_dynamics.recurrent_attention.measures.trained import Boards


def measure(job: WeightsJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Digest of all bits of a run, the loss at its end, and eta.

    Args:
        job: the condition.
        runs: trained models.
        data: not used.

    Returns:
        Columns seed, digest, loss (nats, mean of the last updates; NaN without any) and eta.
    """
    return pd.concat([fingerprint(run) for run in runs], ignore_index=True)


def fingerprint(run: Run) -> pd.DataFrame:
    """The rows of one file of runs."""
    rows = []
    for index, seed in enumerate(run.seeds):
        own = {name: run.arrays[name][index] for name in sorted(run.arrays)}
        # Bytes in the order of the axes, however the array lies in memory.
        bits = b"".join(np.asarray(value).tobytes() for value in own.values())
        digest = hashlib.sha256(bits).hexdigest()[:16]
        last = float(own["losses"][-1]) if own["losses"].size else nan
        rows.append((seed, digest, last, float(own["eta"])))
    return pd.DataFrame(rows, columns=["seed", "digest", "loss", "eta"])
