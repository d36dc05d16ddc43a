"""Runs of trained networks, with the columns that tell them apart."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob
from transformer_dynamics.gradient_heterogeneity.settings.training import HAS_EPSILON, RunJob

Columns = dict[str, str | int | float | bool]


class TrainedRun(NamedTuple):
    """One run of one seed."""

    job: RunJob
    seed: int
    arrays: Mapping[str, NDArray[Any]]
    """Arrays that `training.runs` returned, without the axis of seeds."""

    @property
    def columns(self) -> Columns:
        """Columns that are in every metric.

        case, net (`minilm`, `efficientnet`, `tiny`, ...), task (a set), optimiser, rate, schedule,
        clip (0 where gradients are not clipped), epsilon (NaN where there is none), batch (samples
        of a step, 0 for all of them), exponent (q), block_rates, frozen and seed.
        """
        training = self.job.training
        return {
            "case": self.job.case,
            "net": self.job.net.net,
            "task": self.job.net.task,
            "optimiser": training.optimiser,
            "rate": training.rate,
            "schedule": training.schedule,
            "clip": training.clip or 0.0,
            "epsilon": training.epsilon if training.optimiser in HAS_EPSILON else np.nan,
            "batch": 0 if training.batch_size == "full" else training.batch_size,
            "exponent": training.exponent,
            "block_rates": training.block_rates,
            "frozen": training.frozen,
            "seed": self.seed,
        }


def read_runs(job: MetricJob, runs: Iterable[Run]) -> Iterator[TrainedRun]:
    """Yield every run of every seed."""
    for run in runs:
        name, _, _ = run.name.rpartition("-")
        for seed, arrays in run.by_seed():
            yield TrainedRun(job.runs[name], seed, arrays)
