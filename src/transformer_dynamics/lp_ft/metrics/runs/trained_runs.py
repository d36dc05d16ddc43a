"""Trained runs, the columns that tell them apart, and the data that they looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.settings.metrics import MetricJob
from transformer_dynamics.lp_ft.settings.runs import RunJob
from transformer_dynamics.lp_ft.settings.samples import drawing_seed

Arrays = Mapping[str, NDArray[Any]]
Columns = dict[str, str | int | float]


class TrainedRun(NamedTuple):
    """One run of one seed."""

    job: RunJob
    seed: int
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
    """Tokens and features of all sets."""

    tokens: dict[TextName, Arrays]
    """Tokens with labels, by name of the set."""
    tests: dict[TextName, Arrays]
    """Untrained features of the test samples, by name of the set."""
    drawn: dict[tuple[TextName, int], Arrays]
    """Untrained features of the samples that a seed draws, by name of the set and seed."""

    def labels(self, run: TrainedRun, split: str) -> NDArray[np.int64]:
        """Return [n] classes of a run's `validation` samples, or of one of its test sets."""
        if split == "validation":
            return self.drawn_labels(run, "validation")
        labels: NDArray[np.int64] = self.tokens[_set_name(run, split)]["test_labels"]
        return labels

    def untrained_features(self, run: TrainedRun, split: str) -> NDArray[np.float32]:
        """Return the untrained features phi_0 [n, h] of one of a run's test sets."""
        found: NDArray[np.float32] = self.tests[_set_name(run, split)]["test_features"]
        return found

    def drawn_labels(self, run: TrainedRun, part: str) -> NDArray[np.int64]:
        """Return [n] classes of a run's own `train` or `validation` samples."""
        tokens = self.tokens[run.job.texts.name]
        held_out = f"{part}_labels" in tokens and run.job.texts.train is not None
        whole: NDArray[np.int64] = tokens[f"{part if held_out else 'train'}_labels"]
        return whole[run.arrays[f"{part}_places"]]

    def drawn_features(self, run: TrainedRun, part: str) -> NDArray[np.float32]:
        """Return the untrained features [n, h] of a run's own `train` or `validation` samples."""
        choice = run.job.texts
        drawn = self.drawn[choice.name, drawing_seed(choice, run.seed)]
        found: NDArray[np.float32] = drawn[f"{part}_features"][0]
        return found


def _set_name(run: TrainedRun, split: str) -> TextName:
    names = {"test": run.job.texts.name} | {name: name for name in run.job.others}
    return names[split]


def set_data(job: MetricJob, data: Sequence[Arrays]) -> SetData:
    """Return data by set, and by set and seed.

    The data are tokens and test features of each of `job.sets` in turn, then features of samples,
    as `data.drawn_features` returns them.
    """
    number = 2 * len(job.sets)
    return SetData(
        dict(zip(job.sets, data[:number:2], strict=True)),
        dict(zip(job.sets, data[1:number:2], strict=True)),
        {(each["texts"].item(), each["seed"].item()): each for each in data[number:]},
    )


def trained_runs(job: MetricJob, runs: Iterable[Run]) -> Iterator[TrainedRun]:
    """Yield every run of every seed."""
    for run in runs:
        name, _, _ = run.name.rpartition("-")
        for seed, arrays in run.by_seed():
            yield TrainedRun(job.runs[name], seed, arrays)
