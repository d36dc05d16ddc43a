"""Fingerprints of kernels, and of FT ratios of heads."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from replication.study.fingerprint import digest
from transformer_dynamics.lp_ft.settings.metrics import StartFingerprintJob
from transformer_dynamics.lp_ft.settings.start import KernelJob


def measure(job: StartFingerprintJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compute a digest of all bits of every seed, beside a norm.

    Columns are seed, digest, and norm: the root of the sum of squares of Theta^phi along the heads'
    directions, or of all that is computed for heads.
    """
    name = "whole" if isinstance(job.runs, KernelJob) else "steps"
    rows = []
    for run in runs:
        for seed, own in run.by_seed():
            norm = float(np.linalg.norm(np.asarray(own[name], np.float64)))
            rows.append((seed, digest(own), norm))
    return pd.DataFrame(rows, columns=["seed", "digest", "norm"])
