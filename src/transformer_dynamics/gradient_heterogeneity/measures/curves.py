"""Loss and gradient along training."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.measures.trained import trained


def measure(job: MeasureJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """One row per step.

    Args:
        job: the runs.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; step (from 0), loss of the batch before the step,
        with dropout (nats), and grad_norm before clipping; NaN after a loss that is not finite.
    """
    return pd.concat(
        [
            pd.DataFrame(
                run.columns
                | {
                    "step": np.arange(len(run.arrays["losses"])),
                    "loss": run.arrays["losses"],
                    "grad_norm": run.arrays["norms"],
                }
            )
            for run in trained(job, runs)
        ],
        ignore_index=True,
    )
