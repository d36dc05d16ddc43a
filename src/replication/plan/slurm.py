"""List, await or cancel the Slurm jobs that a killed Snakemake left in the queue.

Such jobs finish, and their results count. A new Snakemake knows nothing of them, and would submit
them a second time while they still write. So a run on a cluster refuses to start while jobs of an
earlier run are there, and

    python -m replication slurm list|wait|cancel

lists them, waits for them or cancels them.
"""

import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from replication.base.errors import InputError

SQUEUE = ("squeue", "--me", "--noheader", "--format=%i|%T|%Z|%k")
"""Id, state, working folder and comment of the user's jobs that are not over."""
JOB_COMMENT = "rule_"
"""Beginning of the comment of a job that Snakemake has submitted."""
CLUSTERS = ("slurm", "cluster-generic")
"""Snakemake's executors whose jobs can be in Slurm's queue."""
SECONDS_BETWEEN_QUESTIONS = 5.0


class SlurmSilentError(InputError):
    """Slurm does not answer."""


class Job(NamedTuple):
    """A Slurm job that waits or runs."""

    number: str
    """Slurm's id of the job."""
    state: str
    """State in Slurm's words, for example `PENDING`."""
    rule: str
    """Rule that Snakemake has submitted, for example `rule_runs_wildcards_example_1`."""


def has_slurm() -> bool:
    """Say whether Slurm's commands are installed here."""
    return shutil.which(SQUEUE[0]) is not None


def jobs_in_queue(folder: Path) -> list[Job]:
    """Return the user's jobs that Snakemake has submitted from a folder and that are not over.

    Raises:
        SlurmSilentError: if Slurm does not answer.
    """
    done = subprocess.run(SQUEUE, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SlurmSilentError(
            f"Slurm does not say which jobs are in its queue ({done.stderr.strip()});"
            " run the same command again when it answers"
        )
    rows = (line.split("|", maxsplit=3) for line in done.stdout.splitlines())
    return [
        Job(number, state, comment)
        for number, state, place, comment in rows
        if comment.startswith(JOB_COMMENT) and Path(place).resolve() == folder.resolve()
    ]


def prepare_run(folder: Path, executor: object) -> None:
    """Prepare a run on a cluster before it submits its first job; do nothing for other runs.

    Args:
        folder: where Snakemake was started.
        executor: Snakemake's plugin that runs the jobs.

    Raises:
        InputError: if jobs of an earlier run are still in Slurm's queue.
        SlurmSilentError: if Slurm does not answer.
    """
    name = getattr(executor, "name", "")
    if name in CLUSTERS:
        refuse_jobs_left(folder)
    if name == "slurm" and has_slurm():
        keep_unanswered_jobs()


def refuse_jobs_left(folder: Path) -> None:
    """Refuse a folder if jobs of an earlier run there are left, on a machine with Slurm.

    Raises:
        InputError: if one is still in Slurm's queue.
        SlurmSilentError: if Slurm does not answer.
    """
    if has_slurm() and (jobs := jobs_in_queue(folder)):
        raise InputError(
            f"{len(jobs)} jobs of an earlier run are still in Slurm's queue"
            f" ({_numbers(jobs)}) and write results here; wait for them with"
            " `python -m replication slurm wait` or cancel them with"
            " `python -m replication slurm cancel`, then run the same command again"
        )


def keep_unanswered_jobs() -> None:
    """Let the plugin of Slurm go on when Slurm does not answer.

    Version 2.8.0 forgets all its jobs after as many questions without an answer as its option
    `status-attempts` says, and then waits for ever. With this it asks again, as after every answer.
    A larger number does not help: while Slurm is silent it asks `sacct`, which never answers where
    Slurm has no accounting database.
    """
    from snakemake_executor_plugin_slurm import Executor

    if Executor.check_active_jobs is not _check_active_jobs:
        setattr(Executor, _ORIGINAL, Executor.check_active_jobs)
        Executor.check_active_jobs = _check_active_jobs


_ORIGINAL = "_check_active_jobs_of_plugin"


async def _check_active_jobs(executor: Any, active_jobs: list[Any]) -> AsyncIterator[Any]:
    """Yield the jobs that are still active: all of them, if Slurm has not answered."""
    answers = executor._status_query_calls
    async for job in getattr(executor, _ORIGINAL)(active_jobs):
        yield job
    if active_jobs and executor._status_query_calls == answers:
        executor.logger.warning("Slurm does not answer; its jobs go on, and it is asked again.")
        for job in active_jobs:
            yield job


def _numbers(jobs: list[Job]) -> str:
    shown = [job.number for job in jobs[:5]]
    return ", ".join([*shown, "..."] if len(jobs) > len(shown) else shown)


@click.group(help=__doc__)
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Folder in which Snakemake was started; default: this one.",
)
@click.pass_context
def main(context: click.Context, directory: Path) -> None:
    """Find the program that a command of the group needs."""
    context.obj = directory
    if not has_slurm():
        raise InputError("There is no `squeue` here; run this where you submit Slurm jobs")


@main.command(name="list")
@click.pass_obj
def list_jobs(directory: Path) -> None:
    """Print id, state and rule of each job that was submitted from the folder."""
    for job in jobs_in_queue(directory):
        click.echo(f"{job.number}\t{job.state}\t{job.rule}")


@main.command()
@click.pass_obj
def wait(directory: Path) -> None:
    """Wait until no job that was submitted from the folder is left."""
    left: int | None = None
    while jobs := jobs_in_queue(directory):
        if len(jobs) != left:
            click.echo(f"waiting for {len(jobs)} jobs: {_numbers(jobs)}")
        left = len(jobs)
        time.sleep(SECONDS_BETWEEN_QUESTIONS)


@main.command()
@click.pass_context
def cancel(context: click.Context) -> None:
    """Cancel the jobs that were submitted from the folder, and wait until they are gone."""
    if jobs := jobs_in_queue(context.obj):
        subprocess.run(["scancel", *(job.number for job in jobs)], env=os.environ, check=True)
    context.invoke(wait)


if __name__ == "__main__":
    main()
