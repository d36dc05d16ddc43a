"""Trained runs, the columns that tell them apart, and the data that they looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.settings.metrics import MetricJob
from transformer_dynamics.lp_ft.settings.runs import RunJob

Arrays = Mapping[str, NDArray[Any]]
Columns = dict[str, str | int | float]


class TrainedRun(NamedTuple):
    """One run of one seed."""

    job: RunJob
    """Job that trained it."""
    seed: int
    """Seed of the run."""
    arrays: Arrays
    """Arrays that `training.runs.train` returned, without the axis of seeds."""

    @property
    def columns(self) -> Columns:
        """Columns texts, method, optimiser, clip, rate, batch_size, norm_of, factor and seed.

        `clip` is 0 where gradients are not clipped; LP has the optimiser `none`, rate and batch
        size 0.
        """
        tuning = self.job.tuning
        told: Columns = {"texts": self.job.texts.name, "method": self.job.method}
        if tuning is None:
            told |= {"optimiser": "none", "clip": 0.0, "rate": 0.0, "batch_size": 0}
            told |= {"norm_of": "own", "factor": 1.0}
        else:
            chosen = tuning.optimiser
            told |= {"optimiser": chosen.kind, "clip": chosen.clip or 0.0, "rate": chosen.rate}
            told |= {"batch_size": tuning.schedule.batch_size}
            told |= {"norm_of": tuning.norm, "factor": tuning.factor}
        return told | {"seed": self.seed}

    @property
    def splits(self) -> list[str]:
        """Names of the run's test sets: `test`, and each set out of distribution."""
        return ["test", *self.job.others]


class SetData(NamedTuple):
    """Tokens and features of all sets, by name of the set."""

    tokens: dict[TextName, Arrays]
    """Tokens with labels."""
    features: dict[TextName, Arrays]
    """Untrained features."""

    def labels(self, run: TrainedRun, split: str) -> NDArray[np.int64]:
        """Return [n] classes of a run's `validation` samples, or of one of its test sets."""
        if split == "validation":
            return self.own_samples(run, "validation", "labels")
        labels: NDArray[np.int64] = self.tokens[_set_name(run, split)]["test_labels"]
        return labels

    def untrained_features(self, run: TrainedRun, split: str) -> NDArray[np.float32]:
        """Return the untrained features phi_0 [n, h] of one of a run's test sets."""
        found: NDArray[np.float32] = self.features[_set_name(run, split)]["test_features"]
        return found

    def own_samples(self, run: TrainedRun, part: str, what: str) -> NDArray[Any]:
        """Return `labels` or `features` of a run's own `train` or `validation` samples."""
        name = run.job.texts.name
        held_out = f"{part}_labels" in self.tokens[name] and run.job.texts.train is not None
        arrays = self.tokens[name] if what == "labels" else self.features[name]
        whole = arrays[f"{part if held_out else 'train'}_{what}"]
        return np.asarray(whole[run.arrays[f"{part}_places"]])


def _set_name(run: TrainedRun, split: str) -> TextName:
    names = {"test": run.job.texts.name} | {name: name for name in run.job.others}
    return names[split]


def set_data(job: MetricJob, data: Sequence[Arrays]) -> SetData:
    """Return tokens and features by set, which are given in turn."""
    return SetData(
        dict(zip(job.sets, data[::2], strict=True)), dict(zip(job.sets, data[1::2], strict=True))
    )


def trained_runs(job: MetricJob, runs: Iterable[Run]) -> Iterator[TrainedRun]:
    """Yield every run of every seed."""
    for run in runs:
        name, _, _ = run.name.rpartition("-")
        for seed, arrays in run.by_seed():
            yield TrainedRun(job.runs[name], seed, arrays)
