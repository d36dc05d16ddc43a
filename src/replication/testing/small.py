"""A study at its smallest scale, computed as the workflow does: for its checks, and for `quick`."""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

import replication.base.places  # noqa: F401  first: what follows is loaded by its content
from replication.base.errors import InputError
from replication.base.storage import read_arrays, read_table
from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from replication.plan.steps import DOCUMENTS, Step, StepsFile
from replication.plan.study_jobs import StudyJobs
from replication.study.studies import Study, find_studies

FOLDER = "quick"
"""Working folder of the command `quick`, below the current one."""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "random"}
"""Variables of a process: hashes differ each time, so that results by the order of a set show."""


@cache
def process(number: int) -> Executor:
    """Return a process of its own that makes files, with one thread, as the workflow does.

    It starts when it is first asked for and serves all studies: imports take longer than the jobs
    of some.
    """
    ignore_interrupts = (signal.signal, (signal.SIGINT, signal.SIG_IGN))
    made = ProcessPoolExecutor(1, get_context("spawn"), *ignore_interrupts)
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
    data or runs, and one of every later stage. Figures are then drawn once, and not written."""

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

        An `InputError` if something in the study cannot be used.
        """
        folder = folder.resolve()
        folder.mkdir(exist_ok=True)
        settings = configure({}, {study.name: study}).section(study.name)
        # Two seeds in a job, so that a job can have several.
        changes = {
            study.name: study.call_optional("smallest", settings, folder),
            "computation": {"seeds_per_job": 2},
        }
        changes = merge(changes, overlay or {})
        with chdir(folder):
            # Some paths are relative to the folder in which the program starts.
            small = cls(study, folder, changes, _jobs_of(study, changes), is_quick)
        small.make(small.numbers if is_quick else small.jobs.steps)
        return small

    def elsewhere(self, name: str, overlay: Mapping[str, Any]) -> "Small":
        """Return the study under further changes, to be made in a folder below this one."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        with chdir(folder):
            return replace(self, folder=folder, jobs=self.jobs_with(overlay))

    def make(self, paths: Iterable[str], in_process: int = 1) -> None:
        """Make files in one of the processes, one after the other; an `InputError` ends it."""
        for path in tqdm([*paths], self.study.name, unit="job", leave=False, disable=None):
            job = process(in_process).submit(make_file, self.folder, self.arguments(path))
            try:
                job.result()
            except InputError as error:
                raise InputError(f"{self.output(path)}: {error.message}") from error

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

    def runs(
        self, paths: Iterable[str]
    ) -> Iterator[tuple[tuple[str, int], dict[str, NDArray[Any]]]]:
        """Yield the arrays of every seed of some files, by the digest of their recipe and seed."""
        for path in paths:
            arrays = read_arrays(self.folder / path, self.jobs.key(path))
            for index, seed in enumerate(self.jobs.steps[path].seeds):
                yield (
                    (self.jobs.recipe(path), seed),
                    {name: values[index] for name, values in arrays.items()},
                )

    def table(self, path: str) -> pd.DataFrame:
        """Return a table by its path: a metric, or the evidence of a claim."""
        return read_table(self.folder / path, self.jobs.key(path))

    def jobs_with(self, overlay: Mapping[str, Any]) -> Jobs:
        """Return the jobs under further changes of the study's section."""
        return _jobs_of(self.study, merge(self.changes, {self.study.name: overlay}))


def _jobs_of(study: Study, changes: dict[str, Any]) -> Jobs:
    studies = {study.name: study}
    return Jobs.of(configure(changes, studies), studies)


@click.command()
@click.argument("studies", nargs=-1)
def main(studies: tuple[str, ...]) -> None:
    """Compute studies at their smallest scale, in the folder `quick`: do all stages fit together?

    These are the named studies, or else those of a plain run. One process makes all files, as
    Python and its packages take longer to start than such jobs. Nothing outside of this folder
    changes, and its results say nothing about the paper.
    """
    known = find_studies()
    plain = [name for name, study in known.items() if study.is_default]
    folder = Path(FOLDER).resolve()
    for name in Jobs.of(configure({}, known), known).selected_studies([*(studies or plain)]):
        try:
            small = Small.compute(known[name], folder)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}; make room for this folder") from error
        click.echo(f"{name}: {FOLDER}/{small.study.figures}, {FOLDER}/{small.study.scorecard}")
