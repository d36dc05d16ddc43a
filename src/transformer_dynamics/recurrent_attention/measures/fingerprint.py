"""What tells runs apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study import Run
from transformer_dynamics.recurrent_attention.measure_settings import WeightsJob
from transformer_dynamics.recurrent_attention.measures.trained import Boards


def measure(job: WeightsJob, runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Digest of all bits of a run, the loss at its end, and eta.

    Args:
        job: the condition.
        runs: trained models.
        data: not used.

    Returns:
        Columns seed, digest, loss (nats, mean of the last updates) and eta.
    """
    rows = []
    for run in runs:
        for index, seed in enumerate(run.seeds):
            own = {
                name: np.ascontiguousarray(run.arrays[name][index]) for name in sorted(run.arrays)
            }
            digest = hashlib.sha256(b"".join(value.tobytes() for value in own.values())).hexdigest()
            rows.append((seed, digest[:16], float(own["losses"][-1]), float(own["eta"])))
    return pd.DataFrame(rows, columns=["seed", "digest", "loss", "eta"])
