"""Singular values of kernels (Figures 2 and 7)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import read_kernels
from transformer_dynamics.lp_ft.settings.metrics import SpectrumMetricJob


def measure(job: SpectrumMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compute all singular values of every kernel over training samples.

    Columns are seed, method, kernel, index from 1, and value, over the largest.
    """
    tables = []
    for start in read_kernels(runs):
        for kernel in start.kernels:
            values = np.linalg.svd(kernel.train_matrix, compute_uv=False)
            own = {"seed": kernel.seed, "method": kernel.method, "kernel": kernel.name}
            rest = {"index": np.arange(1, len(values) + 1), "value": values / values[0]}
            tables.append(pd.DataFrame(own | rest))
    return pd.concat(tables, ignore_index=True)
