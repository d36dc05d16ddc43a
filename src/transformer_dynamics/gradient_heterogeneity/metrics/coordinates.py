"""Gradients and curvature before training in the coordinates of blocks."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.trained_runs import (
    Columns,
    TrainedRun,
    read_runs,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import CoordinatesMetricJob
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import (
    block_rate_gain,
    densities,
    gini,
    gradient_weighted,
    size_weighted,
)

Floats = NDArray[np.float64]


def measure(job: CoordinatesMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each run in its own coordinates theta'_b = theta_b/s_b, in one row.

    A run measures what it needs; runs of the same network, batches and seed tell one another the
    rest. Columns are those of a run, see `TrainedRun.columns`; gini_norms and gini_densities of
    ||g'_b|| and r'_b, lambda_g and lambda_p, and gain, of rates 1/h'_b over one rate in a step,
    with h_b not below its median over the limit; NaN where no run has measured it.
    """
    every = list(read_runs(job, runs))
    known: dict[tuple[str, int | str, int], dict[str, Floats]] = {}
    for run in every:
        for name in ("block_norms", "curvatures"):
            values = np.asarray(run.arrays[name])
            if np.isfinite(values).all():
                known.setdefault(_start(run), {})[name] = values
    return pd.DataFrame(
        [run.columns | _numbers(run, known.get(_start(run), {}), job.limit) for run in every]
    )


def _start(run: TrainedRun) -> tuple[str, int | str, int]:
    """Return the settings that gradients and curvature before training depend on."""
    return run.job.net.model_dump_json(), run.job.training.batch_size, run.seed


def _numbers(run: TrainedRun, known: dict[str, Floats], limit: float) -> Columns:
    scales, sizes = run.arrays["scales"], run.arrays["sizes"]
    unknown = np.full(len(sizes), np.nan)
    norms = scales * known.get("block_norms", unknown)
    curvatures = scales**2 * known.get("curvatures", unknown)
    names = ("gini_norms", "gini_densities", "lambda_g", "lambda_p", "gain")
    found: Columns = dict.fromkeys(names, np.nan)
    has_norms, has_curvatures = np.isfinite(norms).all(), np.isfinite(curvatures).all()
    if has_norms:
        found["gini_norms"] = float(gini(norms))
        found["gini_densities"] = float(gini(densities(norms, sizes)))
    if has_curvatures:
        found["lambda_p"] = float(size_weighted(sizes, curvatures))
    if has_norms and has_curvatures:
        floor = np.median(curvatures) / limit
        found["lambda_g"] = float(gradient_weighted(norms, curvatures))
        found["gain"] = float(block_rate_gain(norms, np.maximum(curvatures, floor)))
    return found
