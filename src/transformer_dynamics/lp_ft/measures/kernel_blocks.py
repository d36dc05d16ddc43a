"""Trace norms of the blocks of kernels, by class (Figures 8 and 9)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.kernel_settings import MeasureKernels
from transformer_dynamics.lp_ft.measures.kernel_matrices import starts
from transformer_dynamics.lp_ft.measures.kernel_sizes import trace_norms


def measure(job: MeasureKernels, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Blocks over training samples, of P and F of the first seed.

    Args:
        job: not used.
        runs: kernels.
        data: not used.

    Returns:
        Columns seed, method, kernel; i and j, places of two samples ordered by class, from 0;
        class_i and class_j; trace_norm, the sum of singular values of the block.
    """
    start = next(starts(runs))
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
