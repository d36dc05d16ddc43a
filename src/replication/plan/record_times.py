"""Record how long the jobs of each study took, for estimates: `seconds.csv` in its folder.

After a whole run in a fresh folder. Jobs that were not run there keep their records.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.recorded_times import (
    COLUMNS,
    RECORD,
    SUFFIX,
    Records,
    job_name,
    measured_seconds,
)
from replication.study.studies import find_studies


class Took(NamedTuple):
    """Time and memory of a job."""

    seconds: float
    """Seconds of processors."""
    mib: float | None
    """Most memory that the job had; none if it is not known."""


@click.command(help=__doc__)
def main() -> None:
    """Write the tables of the studies whose jobs ran here.

    Raises:
        InputError: if no job ran here, or a table cannot be read.
    """
    studies = find_studies()
    jobs = Jobs.of(configure({}, studies), studies)
    here: dict[str, dict[str, Took]] = {}
    for path in Path("logs").rglob(f"*{SUFFIX}"):
        job = job_name(path)
        if study := study_of(job, jobs):
            here.setdefault(study, {})[job] = Took(measured_seconds(path), _most_memory(path))
    if not here:
        raise InputError("logs: no job of a study was timed here; run `snakemake` first")
    for study, took in sorted(here.items()):
        path = studies[study].folder / RECORD
        write_text(path, "\n".join(_lines(_kept(path) | took)) + "\n")
        click.echo(f"{path}: {len(took)} jobs were timed here")


def _kept(path: Path) -> dict[str, Took]:
    """Return the records of earlier runs."""
    records = Records.read(path)
    return {job: Took(each, records.mib.get(job)) for job, each in records.seconds.items()}


def _lines(took: dict[str, Took]) -> Iterator[str]:
    """Yield the lines of the table, by name of the job."""
    yield ",".join(COLUMNS)
    for job, (seconds, mib) in sorted(took.items()):
        yield f"{job},{seconds:.1f},{'' if mib is None else f'{mib:.0f}'}"


def _most_memory(path: Path) -> float | None:
    """Return the most MiB that a job had, as Snakemake wrote them down; none if it did not."""
    with path.open(newline="", encoding="utf-8") as stream:
        found = [row["max_rss"] for row in csv.DictReader(stream, delimiter="\t")]
    return max((float(each) for each in found if each not in {"", "-", "NA"}), default=None)


def study_of(job: str, jobs: Jobs) -> str | None:
    """Return the study of a job, by the job's name; none if no study has it now."""
    _, place, part = (*job.split("/", 2), "", "")[:3]
    if place == "figures":
        figure = jobs.figures.get(part.rpartition(".")[0])
        return figure[0].study.name if figure else None
    study = part if place == "report" else place
    return study if study in jobs.studies else None
