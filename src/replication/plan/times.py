"""Times of jobs: `seconds.csv` in a study's folder, and Snakemake's own files of this folder."""

import csv
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import mean

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.plan.steps import Step
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_steps import StudySteps
from replication.study.seeds import parse_seeds
from replication.study.studies import Study

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


def _number_of_seeds(name: str) -> int:
    """Return the number of seeds in a job's name; a name without them counts as one seed."""
    try:
        return len(parse_seeds(os.path.basename(name)))
    except InputError:
        return 1


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

    Raises:
        InputError: if the file is no such table.
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
        columns = ", ".join(COLUMNS)
        raise InputError(
            f"{path}: is no table of {columns} ({error!r}); restore it with git, or delete it and"
            " make it again with `python -m replication generate --times`"
        ) from error


def measure(benchmark: Path) -> tuple[float, str]:
    """Return seconds of a processor, and the most MiB if known, as Snakemake wrote them down."""
    with benchmark.open(newline="", encoding="utf-8") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    told = [row.get("max_rss", "-") for row in rows]
    memory = [float(each) for each in told if each not in {"", "-", "NA"}]
    return mean(float(row["cpu_time"]) for row in rows), f"{max(memory):.0f}" if memory else ""


def record_times(study: StudyJobs) -> int:
    """Record how long the jobs of a study took in this folder; return their number.

    Jobs that did not run here keep their records.
    """
    names = {record_name(path, step) for path, step in StudySteps(study).all()}
    files = {name: Path(f"{name}{BENCHMARK}") for name in names}
    took = {name: measure(file) for name, file in files.items() if file.is_file()}
    if took:
        path = study.study.folder / RECORD
        here = {name: (f"{seconds:.1f}", mib) for name, (seconds, mib) in took.items()}
        rows = sorted({**read_record(path), **here}.items())
        lines = [",".join(COLUMNS), *(f"{job},{seconds},{mib}" for job, (seconds, mib) in rows)]
        write_text(path, "\n".join(lines) + "\n")
    return len(took)
