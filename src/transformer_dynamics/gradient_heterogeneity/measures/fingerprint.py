"""What tells runs apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a run, and a few numbers.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; digest, loss (of the last batch) and endpoint, in
        nats.
    """
    rows = []
    for run in trained(job, runs):
        # The arm, too: where nothing could be learned, two runs may be the same.
        named = repr(run.columns).encode()
        bits = b"".join(np.asarray(run.arrays[name]).tobytes() for name in sorted(run.arrays))
        rows.append(
            run.columns
            | {
                "digest": hashlib.sha256(named + bits).hexdigest()[:16],
                "loss": float(run.arrays["losses"][-1]),
                "endpoint": float(run.arrays["looks"][-1, 0]),
            }
        )
    return pd.DataFrame(rows)
