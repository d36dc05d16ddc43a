"""Runs as they were kept, with what tells them apart."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob
from transformer_dynamics.gradient_heterogeneity.net_settings import ImageNet
from transformer_dynamics.gradient_heterogeneity.run_settings import RunJob

Arrays = Mapping[str, NDArray[Any]]
Columns = dict[str, str | int | float | bool]


class Trained(NamedTuple):
    """One run of one seed."""

    job: RunJob
    """What made it."""
    seed: int
    """Its seed."""
    arrays: Arrays
    """As `runs.train` describes them, without the axis of seeds."""

    @property
    def columns(self) -> Columns:
        """What is in every metric.

        case, net (`minilm`, `efficientnet`, `tiny`, ...), task (a set), optimiser, rate, schedule,
        clip (0 where gradients are not clipped), epsilon (NaN where there is none), batch (samples
        of a step, 0 for all of them), exponent (q), block_rates, frozen and seed.
        """
        net, training = self.job.net, self.job.training
        has_epsilon = training.optimiser in {"rmsprop", "adam"}
        return {
            "case": self.job.case,
            "net": net.net,
            "task": "fashion_mnist" if isinstance(net, ImageNet) else net.texts.name,
            "optimiser": training.optimiser,
            "rate": training.rate,
            "schedule": training.schedule,
            "clip": training.clip or 0.0,
            "epsilon": training.epsilon if has_epsilon else np.nan,
            "batch": 0 if training.batch_size == "full" else training.batch_size,
            "exponent": training.exponent,
            "block_rates": training.block_rates,
            "frozen": training.frozen,
            "seed": self.seed,
        }


def trained(job: MeasureJob, runs: Iterable[Run]) -> Iterator[Trained]:
    """Every run of every seed."""
    for run in runs:
        name, _, _ = run.name.rpartition("-")
        for index, seed in enumerate(run.seeds):
            arrays = {key: values[index] for key, values in run.arrays.items()}
            yield Trained(job.runs[name], seed, arrays)
