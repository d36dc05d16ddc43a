"""What coordinates make of gradients and curvature before training."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureCoordinates
from transformer_dynamics.gradient_heterogeneity.measures.trained import Columns, Trained, trained
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import (
    block_rate_gain,
    densities,
    gini,
    gradient_weighted,
    size_weighted,
)

Floats = NDArray[np.float64]


def measure(job: MeasureCoordinates, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """One row per run, in its own coordinates theta'_b = theta_b/s_b.

    A run measures what it needs; runs of the same network, batches and seed tell one another the
    rest.

    Args:
        job: the runs, and the limit of rates by curvature.
        runs: as they were trained.
        data: not used.

    Returns:
        Columns of a run, see `Trained.columns`; gini_norms and gini_densities of ||g'_b|| and
        r'_b, lambda_g and lambda_p, and gain, what rates 1/h'_b gain over one rate in a step, with
        h_b not below its median over the limit; NaN where no run has measured it.
    """
    every = list(trained(job, runs))
    known: dict[tuple[str, int | str, int], dict[str, Floats]] = {}
    for run in every:
        for name in ("block_norms", "curvatures"):
            values = np.asarray(run.arrays[name])
            if np.isfinite(values).all():
                known.setdefault(_start(run), {})[name] = values
    return pd.DataFrame(
        [run.columns | _numbers(run, known.get(_start(run), {}), job.limit) for run in every]
    )


def _start(run: Trained) -> tuple[str, int | str, int]:
    """What gradients and curvature before training depend on."""
    return run.job.net.model_dump_json(), run.job.training.batch_size, run.seed


def _numbers(run: Trained, known: dict[str, Floats], limit: float) -> Columns:
    scales, sizes = run.arrays["scales"], run.arrays["sizes"]
    unknown = np.full(len(sizes), np.nan)
    norms = scales * known.get("block_norms", unknown)
    curvatures = scales**2 * known.get("curvatures", unknown)
    names = ("gini_norms", "gini_densities", "lambda_g", "lambda_p", "gain")
    found: Columns = dict.fromkeys(names, np.nan)
    if np.isfinite(norms).all():
        found["gini_norms"] = float(gini(norms))
        found["gini_densities"] = float(gini(densities(norms, sizes)))
    if np.isfinite(curvatures).all():
        found["lambda_p"] = float(size_weighted(sizes, curvatures))
    if np.isfinite(norms).all() and np.isfinite(curvatures).all():
        floor = np.median(curvatures) / limit
        found["lambda_g"] = float(gradient_weighted(norms, curvatures))
        found["gain"] = float(block_rate_gain(norms, np.maximum(curvatures, floor)))
    return found
