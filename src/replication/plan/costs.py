"""Costs of jobs: the times that `seconds.csv` of a study records, and the needs of a plan in words.

Records are of one core under the default settings. Snakemake's own files beside the logs are the
source of new ones.
"""

import csv
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.plan.configuration import configure
from replication.plan.jobs import COLLECTING, Jobs
from replication.plan.limits import GPU, speed
from replication.plan.steps import Step
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_steps import study_steps
from replication.study.seeds import parse_seeds
from replication.study.studies import Study

MADE_BY_STUDY = frozenset({"data", "runs", "metrics"})
"""Stages whose jobs take as long as their settings say; others take seconds under any settings."""
SECONDS_OF_COLLECTING = 3.0
BENCHMARK = ".benchmark.tsv"
"""Ending of the file in which Snakemake writes down what a job took."""
RECORD = "seconds.csv"
COLUMNS = ("job", "seconds", "mib")
"""Columns of the record: seconds of one core, and the most MiB, which may be empty."""


@dataclass(frozen=True)
class Records:
    """Recorded seconds of jobs, on one core, by name, see `record_name`."""

    seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, studies: Iterable[Study]) -> "Records":
        """Return the records of some studies together; raise `InputError` if one is damaged."""
        found = [read_record(study.folder / RECORD) for study in studies]
        return cls({job: float(seconds) for each in found for job, (seconds, _) in each.items()})

    def of_job(self, name: str) -> float | None:
        """Return the seconds of a job; of an unknown one, by the mean seed of those in its folder.

        The last part of a name is often the seeds of the job. None if nothing beside it is known.
        """
        mean_seed = self._seconds_a_seed.get(os.path.dirname(name))
        foreseen = None if mean_seed is None else mean_seed * _number_of_seeds(name)
        return self.seconds.get(name, foreseen)

    @cached_property
    def _seconds_a_seed(self) -> dict[str, float]:
        seconds: dict[str, float] = defaultdict(float)
        seeds: dict[str, int] = defaultdict(int)
        for name, each in self.seconds.items():
            seconds[os.path.dirname(name)] += each
            seeds[os.path.dirname(name)] += _number_of_seeds(name)
        return {folder: seconds[folder] / seeds[folder] for folder in seeds}


class Planned(NamedTuple):
    """One job, and its needs."""

    path: str
    """Path of its first file."""
    seconds: float | None
    """Seconds that it will take; none if they are not known."""
    minutes: int
    """Limit of its run time in minutes."""
    memory: int
    """Memory that it asks for, in MB: of the machine, and of the GPU if it computes there."""
    is_on_gpu: bool
    """True if it asks for a GPU."""


class Costs:
    """Costs of the jobs of a table, by records, or else by their operations."""

    def __init__(self, jobs: Jobs, records: Records | None = None) -> None:
        """Read the records of the table's studies, unless they are given."""
        self.jobs = jobs
        self.records = records or Records.of(each.study for each in jobs.studies.values())

    def seconds(self, path: str) -> float | None:
        """Return the seconds of the job that makes a file; none if they are not known.

        They are those of its record, or else of the jobs beside it, or else as its operations say.
        Records do not count for data, runs and metrics of other settings than the defaults.
        """
        step = self.jobs.steps[path]
        if step.stage in COLLECTING:
            return SECONDS_OF_COLLECTING
        is_recorded = step.device != "cuda" and (
            step.stage not in MADE_BY_STUDY or _kind(path, step) in self._recorded
        )
        known = self.records.of_job(record_name(path, step)) if is_recorded else None
        return step.operations / speed(step.device) or None if known is None else known

    @cached_property
    def _recorded(self) -> set[tuple[str, str]]:
        """Kinds of all files under the default settings."""
        studies = {name: each.study for name, each in self.jobs.studies.items()}
        default = configure({}, studies)
        jobs = self.jobs if self.jobs.configuration == default else Jobs.of(default, studies)
        return {_kind(path, step) for path, step in jobs.steps.items()}

    def behind(self, paths: Iterable[str]) -> list[Planned]:
        """Return the jobs that make some files from nothing, each once."""
        made = {record_name(path, step): (path, step) for path, step in self.jobs.closure(paths)}
        return [
            Planned(path, self.seconds(path), step.minutes, step.memory, step.device == "cuda")
            for path, step in made.values()
        ]

    def of_study(self, name: str) -> list[Planned]:
        """Return the jobs that make everything of a study from nothing."""
        figures = [f"figures/{below}" for below in self.jobs.figure_paths(name)]
        return self.behind([*figures, *self.jobs.studies[name].files.verdicts.values()])

    def in_words(self, *studies: str) -> str:
        """Return the time and the memory of all jobs of some studies, in words."""
        return cost_in_words([job for name in studies for job in self.of_study(name)])


def _kind(path: str, step: Step) -> tuple[str, str]:
    """Return what a file shares with the files beside it that take as long for a seed."""
    return os.path.dirname(path), step.digest


def _number_of_seeds(name: str) -> int:
    """Return the number of seeds in a job's name; a name without them counts as one seed."""
    try:
        return len(parse_seeds(os.path.basename(name)))
    except InputError:
        return 1


def cost_in_words(jobs: Collection[Planned]) -> str:
    """Return the time and the memory that jobs take, in words; empty if there are none."""
    if not jobs:
        return ""
    on_core = sum(job.seconds or 0.0 for job in jobs if not job.is_on_gpu)
    on_gpu = sum(job.seconds or 0.0 for job in jobs if job.is_on_gpu)
    unknown = [job.minutes * 60 for job in jobs if job.seconds is None]
    parts = {
        f"{_in_words(on_core)} of one core": on_core,
        f"{_in_words(on_gpu)} of one GPU, at {GPU:.0e} operations a second": on_gpu,
        f"{count_jobs(len(unknown))} of unknown time, {_in_words(sum(unknown))} at most": unknown,
        f"the largest job asks for {largest_job(jobs).memory:,} MB": True,
    }
    return "; ".join(filter(parts.get, parts))


def largest_job(jobs: Collection[Planned]) -> Planned:
    """Return the job that asks for most memory."""
    return min(jobs, key=lambda job: (-job.memory, job.path))


def count_jobs(jobs: int) -> str:
    """Return a number of jobs in words."""
    return "1 job" if jobs == 1 else f"{jobs:,} jobs"


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def record_name(path: str, step: Step) -> str:
    """Return the name under which the time of a file's job is recorded: the path of its log."""
    study = path.split("/")[1]
    if step.stage == "scorecard":
        return f"logs/{study}/scorecard"
    if step.batch:
        return f"logs/{study}/{step.stage}/{step.batch}"
    if step.stage in {"table", "figure"}:
        return f"logs/{path}{'.pdf' * (step.stage == 'figure')}"
    return f"logs/{path.removeprefix('results/').rpartition('.')[0]}"


def read_record(path: Path) -> dict[str, tuple[str, str]]:
    """Return seconds and MiB by job, as printed; nothing where there is no file.

    An `InputError` if the file is no such table.
    """
    if not path.is_file():
        return {}
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = [*csv.DictReader(stream)]
        for row in rows:
            float(row["seconds"]), float(row["mib"] or 0)
        return {row["job"]: (row["seconds"], row["mib"]) for row in rows}
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: is no table of {', '.join(COLUMNS)} ({error!r}); restore it with git, or"
            " delete it and make it again with `python -m replication generate --times`"
        ) from error


def measure(benchmark: Path) -> tuple[str, str]:
    """Return seconds of a processor, and the most MiB if known, as Snakemake wrote them down."""
    with benchmark.open(newline="", encoding="utf-8") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    told = [row.get("max_rss", "-") for row in rows]
    memory = [float(each) for each in told if each not in {"", "-", "NA"}]
    seconds = mean(float(row["cpu_time"]) for row in rows)
    return f"{seconds:.1f}", f"{max(memory):.0f}" if memory else ""


def record_times(study: StudyJobs) -> int:
    """Record the times of the jobs of a study that ran in this folder; return their number.

    Jobs that did not run here keep their records.
    """
    names = {record_name(path, step) for path, step in study_steps(study).items()}
    files = {name: Path(f"{name}{BENCHMARK}") for name in names}
    took = {name: measure(file) for name, file in files.items() if file.is_file()}
    if took:
        path = study.study.folder / RECORD
        rows = sorted({**read_record(path), **took}.items())
        lines = [",".join(COLUMNS), *(f"{job},{seconds},{mib}" for job, (seconds, mib) in rows)]
        write_text(path, "\n".join(lines) + "\n")
    return len(took)
