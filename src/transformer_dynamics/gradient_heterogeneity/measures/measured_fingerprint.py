"""What tells measured networks apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measured_settings import MeasuredRuns


def measure(job: MeasuredRuns, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a run, and a few numbers.

    Args:
        job: not used.
        runs: as they were measured.
        data: not used.

    Returns:
        Columns arm (the name of the run without its seed), seed, digest, norm, the mean of ||g|| of
        the last state, and curvature, the mean of its h_b, NaN if none was measured.
    """
    rows = []
    for run in runs:
        arm, _, _ = run.name.rpartition("-")
        for place, seed in enumerate(run.seeds):
            arrays = {name: np.asarray(run.arrays[name][place]) for name in sorted(run.arrays)}
            bits = b"".join(values.tobytes() for values in arrays.values())
            curvatures = arrays["curvatures"][-1]
            known = curvatures[np.isfinite(curvatures)]
            rows.append(
                {
                    "arm": arm,
                    "seed": seed,
                    "digest": hashlib.sha256(arm.encode() + bits).hexdigest()[:16],
                    "norm": float(np.linalg.norm(arrays["norms"][-1], axis=-1).mean()),
                    "curvature": float(known.mean()) if len(known) else np.nan,
                }
            )
    return pd.DataFrame(rows)
