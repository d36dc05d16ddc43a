"""What tells runs apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a run, and a few numbers.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns arm (the name of the run without its seed), seed, digest, loss (of the last batch)
        and endpoint, in nats.
    """
    rows = []
    for file in runs:
        arm, _, _ = file.name.rpartition("-")
        for run in trained(job, [file]):
            # The arm, too: where nothing could be learned, two runs may be the same.
            bits = b"".join(np.asarray(run.arrays[name]).tobytes() for name in sorted(run.arrays))
            digest = hashlib.sha256(arm.encode() + bits).hexdigest()[:16]
            ends = float(run.arrays["losses"][-1]), float(run.arrays["looks"][-1, 0])
            rows.append((arm, run.seed, digest, *ends))
    return pd.DataFrame(rows, columns=["arm", "seed", "digest", "loss", "endpoint"])
