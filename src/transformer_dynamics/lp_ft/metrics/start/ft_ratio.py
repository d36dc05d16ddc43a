"""FT ratios from explicit kernels, of all four methods (Tables 2 and 9)."""

from collections.abc import Iterable, Sequence

import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import ALL_METHODS, read_kernels
from transformer_dynamics.lp_ft.settings.metrics import KernelMetricJob
from transformer_dynamics.lp_ft.theory.ft_ratio import Terms
from transformer_dynamics.lp_ft.theory.kernel import apply_kernel


def measure(job: KernelMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compute FT ratios on the kernel's training samples, a part of the probe's.

    Columns are seed, method, ft_ratio; p_term and f_term, mean lengths for eta = 1; error, mean
    ||delta_i||.
    """
    rows = []
    for start in read_kernels(runs):
        p = next(kernel for kernel in start.kernels if kernel.method == ALL_METHODS)
        for kernel in start.kernels:
            if kernel.name != "F":
                continue
            delta = torch.from_numpy(start.errors[start.head_index(kernel.method)])
            terms = Terms(
                *(
                    apply_kernel(torch.from_numpy(k.blocks[: k.training]), delta)
                    for k in (p, kernel)
                )
            )
            lengths = [float(x.norm(dim=1).mean()) for x in (*terms, delta)]
            rows.append((start.seed, kernel.method, terms.ratio, *lengths))
    return pd.DataFrame(rows, columns=["seed", "method", "ft_ratio", "p_term", "f_term", "error"])
