"""Trace norms of the blocks of kernels, by class (Figures 8 and 9)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import read_kernels
from transformer_dynamics.lp_ft.metrics.start.kernel_sizes import trace_norms
from transformer_dynamics.lp_ft.settings.metrics import KernelMetricJob


def measure(job: KernelMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compute the norms of blocks over training samples, of P and F of the first seed.

    Columns are seed, method, kernel; i and j, places of two samples ordered by class, from 0;
    class_i and class_j; trace_norm, the sum of singular values of the block.
    """
    start = next(read_kernels(runs))
    tables = []
    for kernel in start.kernels:
        if kernel.name == "NTK":
            continue
        labels = start.labels[: kernel.training]
        order = np.argsort(labels, kind="stable")
        norms = trace_norms(kernel)[np.ix_(order, order)]
        i, j = np.indices(norms.shape).reshape(2, -1)
        own = {"seed": kernel.seed, "method": kernel.method, "kernel": kernel.name, "i": i, "j": j}
        classes = {"class_i": labels[order][i], "class_j": labels[order][j]}
        tables.append(pd.DataFrame(own | classes | {"trace_norm": norms.ravel()}))
    return pd.concat(tables, ignore_index=True)
