"""Cost of jobs: their time, and the memory of the largest, in words."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from replication.plan.jobs import Jobs
from replication.plan.limits import GPU
from replication.plan.times import Records, record_name


class Planned(NamedTuple):
    """One job, and what it takes."""

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


def jobs_behind(jobs: Jobs, paths: Iterable[str], records: Records) -> list[Planned]:
    """Return the jobs that make some files from nothing, each once."""
    made = {record_name(path, step): (path, step) for path, step in jobs.closure(paths)}
    return [
        Planned(path, jobs.seconds(path, records), step.minutes, step.memory, step.device == "cuda")
        for path, step in made.values()
    ]


def cost_of_study(jobs: Jobs, study: str, records: Records) -> list[Planned]:
    """Return the jobs that make everything of a study from nothing."""
    figures = [f"figures/{below}" for below in jobs.figure_paths(study)]
    return jobs_behind(jobs, [*figures, *jobs.studies[study].files.verdicts.values()], records)


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
