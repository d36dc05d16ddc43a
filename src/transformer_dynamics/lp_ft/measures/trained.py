"""Runs as they were kept, with what tells them apart and the data that they looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.run_settings import RunJob

Arrays = Mapping[str, NDArray[Any]]
Columns = dict[str, str | int | float]


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
        """Texts, method, optimiser, clip, rate, batch_size, norm_of, factor and seed.

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
        """Names of its test sets: `test`, and each set out of distribution."""
        return ["test", *self.job.others]


class Known(NamedTuple):
    """Tokens and features of all sets, by name of the set."""

    tokens: dict[TextName, Arrays]
    """With labels."""
    features: dict[TextName, Arrays]
    """Before training."""

    def labels(self, run: Trained, split: str) -> NDArray[np.int64]:
        """[n] classes of the samples of a run's `validation`, or of one of its test sets."""
        if split == "validation":
            return self.own(run, "validation", "labels")
        labels: NDArray[np.int64] = self.tokens[_set(run, split)]["test_labels"]
        return labels

    def before(self, run: Trained, split: str) -> NDArray[np.float32]:
        """[n, h] phi_0 of one of its test sets."""
        found: NDArray[np.float32] = self.features[_set(run, split)]["test_features"]
        return found

    def own(self, run: Trained, part: str, what: str) -> NDArray[Any]:
        """Labels or features of a run's own samples.

        Args:
            run: which.
            part: `train` or `validation`.
            what: `labels` or `features`.
        """
        name = run.job.texts.name
        held_out = f"{part}_labels" in self.tokens[name] and run.job.texts.train is not None
        arrays = self.tokens[name] if what == "labels" else self.features[name]
        whole = arrays[f"{part if held_out else 'train'}_{what}"]
        return np.asarray(whole[run.arrays[f"{part}_places"]])


def _set(run: Trained, split: str) -> TextName:
    names = {"test": run.job.texts.name} | {name: name for name in run.job.others}
    return names[split]


def known(job: MeasureJob, data: Sequence[Arrays]) -> Known:
    """Tokens and features, which are given in turn."""
    return Known(
        dict(zip(job.sets, data[::2], strict=True)), dict(zip(job.sets, data[1::2], strict=True))
    )


def trained(job: MeasureJob, runs: Iterable[Run]) -> Iterator[Trained]:
    """Every run of every seed."""
    for run in runs:
        name, _, _ = run.name.rpartition("-")
        for index, seed in enumerate(run.seeds):
            arrays = {key: values[index] for key, values in run.arrays.items()}
            yield Trained(job.runs[name], seed, arrays)
