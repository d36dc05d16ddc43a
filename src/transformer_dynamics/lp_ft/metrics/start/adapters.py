"""Scalar by which kernels of adapters differ from that of the encoder (Sec. 5.3)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.lp_ft.metrics.start.kernel_matrices import METHOD_KERNELS, read_kernels
from transformer_dynamics.lp_ft.settings.metrics import KernelMetricJob
from transformer_dynamics.lp_ft.theory.lora import expected_scalar, kaiming_deviation


def measure(job: KernelMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Compare F^LoRA for every drawn A with F, over training samples.

    Columns are seed, method (lora or lp_lora), draw from 0, parameters (`all` or `adapted`: whose F
    it is compared with), scalar <F^LoRA, F>/<F, F>, cosine, ratio of norms, and expected, the mean
    over A of the scalar, which holds for the adapted parameters.
    """
    given = job.runs.adapters
    rows = []
    for start in read_kernels(runs):
        mean = expected_scalar(kaiming_deviation(start.width), given.rank, given.alpha)
        for method in (name for name, (_, which) in METHOD_KERNELS.items() if which == "adapters"):
            inner = start.inner[start.head_index(method)]
            lengths = np.sqrt(np.diag(inner))
            for full, parameters in enumerate(("all", "adapted")):
                for draw in range(len(inner) - 2):
                    product, own = inner[draw + 2, full], lengths[draw + 2]
                    scalar = product / lengths[full] ** 2
                    cosine, ratio = product / lengths[full] / own, own / lengths[full]
                    rows.append((start.seed, method, draw, parameters, scalar, cosine, ratio, mean))
    names = ["seed", "method", "draw", "parameters", "scalar", "cosine", "ratio", "expected"]
    return pd.DataFrame(rows, columns=names)
