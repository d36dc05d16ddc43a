"""Ranks, norms and block sizes of kernels (Tables 2 and 9, and the text on Figures 8 and 9)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import (
    Floats,
    Kernel,
    SeedKernels,
    read_kernels,
)
from transformer_dynamics.lp_ft.settings.metrics import SpectrumMetricJob
from transformer_dynamics.lp_ft.theory.ranks import f_rank_cap, numerical_rank


def measure(job: SpectrumMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compute ranks, norms and block sizes of every kernel over training samples.

    Columns are seed, method, kernel; rank_float64, rank_float32 and rank_coarse, singular values
    above max(shape) times the resolution of that type, or above the given tolerance, of the
    largest; cap, the largest rank that it can have: C min(N, h + 1) for P, N rank V for F, their
    sum but at most N C for NTK; frobenius; diagonal and off_diagonal, mean trace norms of blocks
    (x, x) and of others.
    """
    rows = [
        {"seed": kernel.seed, "method": kernel.method, "kernel": kernel.name}
        | _size_columns(start, kernel, job.rank_tolerance)
        for start in read_kernels(runs)
        for kernel in start.kernels
    ]
    return pd.DataFrame(rows)


def _size_columns(start: SeedKernels, kernel: Kernel, tolerance: float) -> dict[str, float]:
    matrix = kernel.train_matrix
    single = len(matrix) * float(np.finfo(np.float32).eps)
    norms = trace_norms(kernel)
    is_diagonal = np.eye(len(norms), dtype=bool)
    return {
        "rank_float64": numerical_rank(matrix),
        "rank_float32": numerical_rank(matrix, single),
        "rank_coarse": numerical_rank(matrix, tolerance),
        "cap": rank_cap(start, kernel),
        "frobenius": float(np.linalg.norm(matrix)),
        "diagonal": float(norms[is_diagonal].mean()),
        "off_diagonal": float(norms[~is_diagonal].mean()),
    }


def rank_cap(start: SeedKernels, kernel: Kernel) -> int:
    """Return the largest rank that a kernel can have."""
    training, classes = kernel.training, kernel.classes
    p = classes * min(training, start.width + 1)
    if kernel.name == "P":
        return p
    f = f_rank_cap(start.coefficients[start.head_index(kernel.method)], training)
    return f if kernel.name == "F" else min(p + f, training * classes)


def trace_norms(kernel: Kernel) -> Floats:
    """Return [N, N] sums of the singular values of blocks over training samples."""
    blocks = kernel.blocks[: kernel.training]
    return np.asarray(np.linalg.svd(blocks, compute_uv=False).sum(axis=-1))
