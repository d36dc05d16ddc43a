"""A study at its smallest scale, computed as the workflow does, for the checks of a study."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.storage import read_arrays
from replication.base.tables import read_table
from replication.plan.configuration import configure, merge
from replication.plan.jobs import Jobs
from replication.plan.orders import DOCUMENTS, DocumentFile, Order, Orders
from replication.plan.study_jobs import StudyJobs
from replication.plan.tasks import Task
from replication.study.studies import Study

Value = TypeVar("Value")

PROGRAM = """
import json, os, sys
from replication.base.errors import InputError
from replication.run.program import main
for line in sys.stdin:
    folder, jobs = json.loads(line)
    os.chdir(folder)
    for arguments in jobs:
        try:
            main.main(arguments, standalone_mode=False)
        except InputError as error:
            sys.exit(f"{arguments}: {error.message}")
    print("\\n", DONE, sep="", flush=True)
"""
"""Program of a process that makes files: one line of its input is a folder and its jobs."""
DONE = "all of them are made"
"""Line that the process prints after the jobs of one line."""
Runs = Iterator[tuple[tuple[str, int], dict[str, NDArray[Any]]]]
"""Arrays of runs, by the digest of their recipe and the seed."""
LONGEST_ANSWER = 1000
"""Characters of the message of a failed job that are shown."""


class Process:
    """A process of its own that makes files, with one thread, as the workflow does.

    The process starts when it is first needed. Several studies can share it, as imports take longer
    than the jobs of some studies.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        # The file ends with this object.
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._messages.close()

    def make(self, folder: Path, jobs: list[list[str]]) -> None:
        """Run jobs in the process, one after the other.

        Args:
            folder: working folder of the jobs.
            jobs: arguments of the program, for each job.

        Raises:
            InputError: if a job fails; the jobs after it are not done.
        """
        child = self._child = self._child or self._start()
        assert child.stdin
        assert child.stdout
        self._messages.seek(0)
        self._messages.truncate()
        child.stdin.write(json.dumps([str(folder), jobs]) + "\n")
        child.stdin.flush()
        # Jobs may print, too.
        if not any(line.strip() == DONE for line in child.stdout):
            self._end()
            self._messages.seek(0)
            raise InputError(self._messages.read()[-LONGEST_ANSWER:].strip())

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", f"DONE = {DONE!r}\n{PROGRAM}"],
            # Hashes differ each time, so that results that depend on the order of a set show.
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                "PYTHONHASHSEED": "random",
                "OMP_NUM_THREADS": "1",
            },
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
        )

    def _end(self) -> None:
        if child := self._child:
            # The process ends at the end of its input.
            child.communicate()
            self._child = None


@dataclass(frozen=True)
class Processes:
    """The two processes that make a study, and make it once more."""

    first: Process
    """Process that makes what is checked."""
    second: Process
    """Process that makes what this is compared with."""

    @classmethod
    @contextmanager
    def start(cls) -> Iterator["Processes"]:
        """Start two processes, which end with the context."""
        with Process() as first, Process() as second:
            yield cls(first, second)


@dataclass(frozen=True)
class Small:
    """A study at its smallest scale, all of it computed in a folder."""

    study: Study
    """Study that is computed."""
    folder: Path
    """Folder of the results."""
    changes: dict[str, Any]
    """Changes of the default configuration, by key."""
    jobs: Jobs
    """Jobs that make all of its files."""
    processes: Processes | None = None
    """Processes that compute it; if none, every call starts one."""
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
        is_drawn: bool = True,
        is_quick: bool = False,
        processes: Processes | None = None,
        overlay: Mapping[str, Any] | None = None,
    ) -> "Small":
        """Compute a study.

        Args:
            study: the study.
            folder: an empty folder.
            is_drawn: whether figures are drawn, too.
            is_quick: whether checks are to be quick; then no figure is drawn here.
            processes: processes that several studies share, if any.
            overlay: further changes of the configuration.

        Raises:
            InputError: if something in the study cannot be used.
        """
        planned = cls.plan(study, folder, processes=processes, overlay=overlay)
        small = replace(planned, is_quick=is_quick)
        small.make(small.jobs.tasks if is_drawn and not is_quick else small.numbers)
        return small

    @classmethod
    def plan(
        cls,
        study: Study,
        folder: Path,
        *,
        processes: Processes | None = None,
        overlay: Mapping[str, Any] | None = None,
    ) -> "Small":
        """Return a study without any of its files; arguments and errors are those of `compute`."""
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
            return cls(study, folder, changes, _jobs_of(study, changes), processes)

    def compute_again(self) -> tuple["Small", list[str]]:
        """Make all files except figures once more, in another folder; return both."""
        folder = self.folder / "again"
        if not self.is_quick:
            with self._swapped_processes() as processes:
                again = Small.compute(self.study, folder, is_drawn=False, processes=processes)
            return again, self.numbers
        folder.mkdir(exist_ok=True)
        with chdir(folder):
            # Some paths are relative to where the program starts.
            again = replace(self, folder=folder, jobs=_jobs_of(self.study, self.changes))
        tasks = [each for each in self.jobs.tasks.items() if each[1].stage != "figure"]
        wanted = first_of_each(tasks, lambda each: _kind_of_file(each[1]))
        made = [path for path in self.numbers if path in dict(wanted)]
        # They read the same files as the first ones.
        for path in {*self.numbers}.difference(made):
            link = folder / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(self.folder / path)
        with self._swapped_processes() as processes:
            processes.first.make(folder, [again.arguments(path) for path in made])
        return again, made

    def compute_one_seed(self, random: Random) -> Runs:
        """Compute runs of one seed, and what they read, in another folder; yield them as `runs`."""
        folder = self.folder / "alone"
        folder.mkdir(exist_ok=True)
        overlay = self.study.one_seed(self.parts.settings, random)
        alone = replace(self, folder=folder, jobs=self.jobs_with(overlay))
        tasks = dict(alone.tasks("data", "runs"))
        runs = {path: task for path, task in tasks.items() if task.stage == "runs"}
        compared = [*runs]
        if self.is_quick:
            compared = first_of_each(runs, lambda path: runs[path].program)
        needed = {*compared}
        for path, task in reversed(tasks.items()):
            if path in needed:
                needed.update(task.reads)
        with self._swapped_processes() as processes:
            replace(alone, processes=processes).make(path for path in tasks if path in needed)
        return alone.runs(compared)

    @contextmanager
    def _swapped_processes(self) -> Iterator[Processes]:
        """Yield the study's two processes in the other order, or two new ones if it has none."""
        if self.processes:
            yield Processes(self.processes.second, self.processes.first)
        else:
            with Processes.start() as processes:
                yield processes

    def make(self, paths: Iterable[str]) -> None:
        """Make files in another process with one thread, as the workflow does.

        Raises:
            InputError: if a job fails.
        """
        jobs = list(map(self.arguments, paths))
        if self.processes:
            self.processes.first.make(self.folder, jobs)
        else:
            with Process() as process:
                process.make(self.folder, jobs)

    @property
    def parts(self) -> StudyJobs:
        """Jobs of the study."""
        return self.jobs.studies[self.study.name]

    @property
    def numbers(self) -> list[str]:
        """Paths of all files except figures."""
        return [path for path, task in self.jobs.tasks.items() if task.stage != "figure"]

    def output(self, path: str) -> Path:
        """Return the file of a task; that of a figure is its PDF."""
        return Path(f"{path}.pdf" if self.jobs.tasks[path].stage == "figure" else path)

    def arguments(self, path: str) -> list[str]:
        """Return the arguments of the program that makes a file."""
        orders = Orders(orders=[self.order(path)])
        return [str(DocumentFile(orders.to_json(), self.folder.resolve() / DOCUMENTS))]

    def tasks(self, *stages: str) -> Iterator[tuple[str, Task]]:
        """Yield the path and the task of every file of some stages."""
        return (item for item in self.jobs.tasks.items() if item[1].stage in stages)

    def order(self, path: str) -> Order:
        """Return the order to the program that makes a file."""
        return self.jobs.order(path, str(self.output(path)))

    def runs(self, paths: Iterable[str] | None = None) -> Runs:
        """Yield the arrays of every seed of some files, or of all, by recipe's digest and seed."""
        for path in paths or (path for path, _ in self.tasks("runs")):
            arrays = read_arrays(self.folder / path, self.jobs.key(path))
            for index, seed in enumerate(self.jobs.tasks[path].seeds):
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


def _kind_of_file(task: Task) -> tuple[str, str | None]:
    return task.stage, task.program if task.stage in {"data", "runs"} else None


def _jobs_of(study: Study, changes: dict[str, Any]) -> Jobs:
    """Return the jobs of a study, with paths relative to the working folder."""
    studies = {study.name: study}
    return Jobs.of(configure(changes, studies), studies)
