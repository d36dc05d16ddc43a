"""What tells kernels apart."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.kernel_settings import MeasureKernels


def measure(job: MeasureKernels, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Digest of all bits of a seed, and the norm of Theta^phi along the heads' directions.

    Args:
        job: not used.
        runs: kernels.
        data: not used.

    Returns:
        Columns seed, digest, norm (the root of the sum of squares over all blocks).
    """
    return fingerprints(runs, "whole")


def fingerprints(runs: Iterable[Run], name: str) -> pd.DataFrame:
    """Digests of all arrays and the norm of one, by seed.

    Args:
        runs: files of runs.
        name: of that array.
    """
    rows = []
    for run in runs:
        for index, seed in enumerate(run.seeds):
            own = [np.asarray(run.arrays[key][index]) for key in sorted(run.arrays)]
            bits = b"".join(value.tobytes() for value in own)
            norm = float(np.linalg.norm(np.asarray(run.arrays[name][index], np.float64)))
            rows.append((seed, hashlib.sha256(bits).hexdigest()[:16], norm))
    return pd.DataFrame(rows, columns=["seed", "digest", "norm"])
