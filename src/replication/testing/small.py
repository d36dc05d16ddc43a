"""A study at its smallest scale, computed as the workflow does, for the checks of a study."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from unittest.mock import patch

import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

import replication.base.sources  # noqa: F401  first: what follows is loaded by its content
from replication.base.errors import InputError
from replication.base.storage import read_arrays
from replication.base.tables import read_table
from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from replication.plan.steps import DOCUMENTS, Step, StepsFile
from replication.plan.study_jobs import StudyJobs
from replication.study.studies import Study

Value = TypeVar("Value")

Runs = Iterator[tuple[tuple[str, int], dict[str, NDArray[Any]]]]
"""Arrays of runs, by the digest of their recipe and the seed."""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "random"}
"""Variables of a process: hashes differ each time, so that results by the order of a set show."""


@cache
def process(number: int) -> Executor:
    """Return a process of its own that makes files, with one thread, as the workflow does.

    It starts when it is first asked for and serves all studies: imports take longer than the jobs
    of some.
    """
    made = ProcessPoolExecutor(
        1, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )
    with patch.dict(os.environ, ENVIRONMENT):
        made.submit(os.getpid).result()
    return made


def make_file(folder: Path, arguments: list[str]) -> None:
    """Run one job in a folder."""
    from replication.run import program

    with chdir(folder):
        program.main.main(arguments, standalone_mode=False)


@dataclass(frozen=True)
class Small:
    """A study at its smallest scale, all of it computed in a folder."""

    study: Study
    folder: Path
    """Folder of the results."""
    changes: dict[str, Any]
    """Changes of the default configuration, by key."""
    jobs: Jobs
    """Jobs that make all of its files."""
    is_quick: bool = False
    """True if checks make only a part of the study once more: one file of each program that makes
    data or runs, and one of every later stage; of one seed, a file of runs of each program. Figures
    are then drawn once, and not written."""

    @classmethod
    def compute(
        cls,
        study: Study,
        folder: Path,
        *,
        is_quick: bool = False,
        overlay: Mapping[str, Any] | None = None,
    ) -> "Small":
        """Compute a study in an empty folder, under further changes of the configuration.

        Raises:
            InputError: if something in the study cannot be used.
        """
        folder = folder.resolve()
        folder.mkdir(exist_ok=True)
        settings = configure({}, {study.name: study}).section(study.name)
        # Two seeds in a job, so that a job can have several.
        changes = {
            study.name: study.smallest(settings, folder),
            "computation": {"seeds_per_job": 2},
        }
        changes = merge(changes, overlay or {})
        with chdir(folder):
            small = cls(study, folder, changes, _jobs_of(study, changes), is_quick)
        small.make(small.numbers if is_quick else small.jobs.steps)
        return small

    def compute_again(self) -> tuple["Small", list[str]]:
        """Make files except figures once more, in another folder; return it and their paths."""
        folder = self.folder / "again"
        folder.mkdir(exist_ok=True)
        with chdir(folder):
            # Some paths are relative to the folder in which the program starts.
            again = replace(self, folder=folder, jobs=_jobs_of(self.study, self.changes))
        made = self.numbers
        if self.is_quick:
            made = first_of_each(made, lambda path: _kind_of_file(self.jobs.steps[path]))
        # They read the same files as the first ones.
        for path in {*self.numbers}.difference(made):
            link = folder / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(self.folder / path)
        again.make(made, in_process=2)
        return again, made

    def compute_one_seed(self, random: Random) -> Runs:
        """Compute runs of one seed, and their inputs, in another folder; yield them as `runs`."""
        folder = self.folder / "alone"
        folder.mkdir(exist_ok=True)
        overlay = self.study.one_seed(self.parts.settings, random)
        alone = replace(self, folder=folder, jobs=self.jobs_with(overlay))
        compared = [path for path, _ in alone.steps("runs")]
        if self.is_quick:
            compared = first_of_each(compared, lambda path: alone.jobs.steps[path].program)
        needed = dict(alone.jobs.closure(compared))
        alone.make([path for path in alone.jobs.steps if path in needed], in_process=2)
        return alone.runs(compared)

    def make(self, paths: Iterable[str], in_process: int = 1) -> None:
        """Make files in one of the processes, one after the other.

        Raises:
            InputError: if a job fails; the jobs after it are not done.
        """
        for path in tqdm([*paths], self.study.name, unit="job", leave=False, disable=None):
            job = process(in_process).submit(make_file, self.folder, self.arguments(path))
            try:
                job.result()
            except InputError as error:
                raise InputError(f"{self.output(path)}: {error.message}") from error
            except BrokenProcessPool as error:
                process.cache_clear()
                raise InputError(f"{self.output(path)}: its process was killed") from error

    @property
    def parts(self) -> StudyJobs:
        """Jobs of the study."""
        return self.jobs.studies[self.study.name]

    @property
    def numbers(self) -> list[str]:
        """Paths of all files except figures."""
        return [path for path, step in self.jobs.steps.items() if step.stage != "figure"]

    def output(self, path: str) -> Path:
        """Return the file of a step; that of a figure is its PDF."""
        return Path(f"{path}.pdf" if self.jobs.steps[path].stage == "figure" else path)

    def arguments(self, path: str) -> list[str]:
        """Return the arguments of the program that makes a file."""
        return [str(StepsFile([self.ready(path)], self.folder.resolve() / DOCUMENTS))]

    def steps(self, *stages: str) -> Iterator[tuple[str, Step]]:
        """Yield the path and the step of every file of some stages."""
        return (item for item in self.jobs.steps.items() if item[1].stage in stages)

    def ready(self, path: str) -> Step:
        """Return the step that makes a file, ready to be carried out."""
        more = self.jobs.steps[path].outputs[1:]
        return self.jobs.ready(path, [str(self.output(path)), *more])

    def runs(self, paths: Iterable[str] | None = None) -> Runs:
        """Yield the arrays of every seed of some files, or of all, by recipe's digest and seed."""
        for path in paths or (path for path, _ in self.steps("runs")):
            arrays = read_arrays(self.folder / path, self.jobs.key(path))
            for index, seed in enumerate(self.jobs.steps[path].seeds):
                own = {name: values[index] for name, values in arrays.items()}
                yield (self.jobs.recipe(path), seed), own

    def table(self, path: str) -> pd.DataFrame:
        """Return a table by its path: a metric, or the evidence of a claim."""
        return read_table(self.folder / path, self.jobs.key(path))

    def jobs_with(self, overlay: Mapping[str, Any]) -> Jobs:
        """Return the jobs under further changes of the study's section."""
        return _jobs_of(self.study, merge(self.changes, {self.study.name: overlay}))


def first_of_each(values: Iterable[Value], kind: Callable[[Value], object]) -> list[Value]:
    """Return the first value of each kind, in order."""
    found: dict[object, Value] = {}
    for value in values:
        found.setdefault(kind(value), value)
    return [*found.values()]


def _kind_of_file(step: Step) -> tuple[str, str | None]:
    return step.stage, step.program if step.stage in {"data", "runs"} else None


def _jobs_of(study: Study, changes: dict[str, Any]) -> Jobs:
    """Return the jobs of a study, with paths relative to the working folder."""
    studies = {study.name: study}
    return Jobs.of(configure(changes, studies), studies)
