"""Measure the runs of an experiment, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.study.contract import Run
from transformer_dynamics.example.settings import MetricJob


def measure(
    job: MetricJob, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """Return the metric's rows of all runs, whose arrays are as `training.train` returns them."""
    rows = {"error": _error, "half_life": _half_life}[job.metric]
    tables = [rows(job, run.seeds, np.asarray(run.arrays["weights"], float)) for run in runs]
    return pd.concat(tables, ignore_index=True)


def _error(job: MetricJob, seeds: list[int], weights: NDArray[np.float64]) -> pd.DataFrame:
    """Return 1 - w_d after every update: 1 at the start, 0 when direction d is learned."""
    axes = [seeds, range(job.training.updates + 1), job.training.problem.variances]
    index = pd.MultiIndex.from_product(axes, names=["seed", "update", "variance"])
    return pd.DataFrame({"error": 1 - weights.ravel()}, index=index).reset_index()


def _half_life(job: MetricJob, seeds: list[int], weights: NDArray[np.float64]) -> pd.DataFrame:
    """Return the number of updates after which at most half of the error is left."""
    is_half = weights >= 0.5
    if not is_half[:, -1].all():
        raise InputError(
            f"a direction is not half learned after {job.training.updates} updates; do more"
        )
    index = pd.Index(seeds, name="seed")
    table = pd.DataFrame(is_half.argmax(axis=1), index, job.training.problem.variances)
    return table.melt(var_name="variance", value_name="half_life", ignore_index=False).reset_index()
