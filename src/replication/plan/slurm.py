"""Keep a run on Slurm from harm where Snakemake's plugin does not.

Jobs that a killed Snakemake left in the queue finish, and their results count. A new Snakemake
knows nothing of them, and would submit them a second time while they still write. So a run on a
cluster refuses to start while jobs of an earlier run are there.
"""

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from replication.base.errors import InputError

SQUEUE = ("squeue", "--me", "--noheader", "--format=%i|%Z|%k")
"""Id, working folder and comment of the user's jobs that are not over."""
JOB_COMMENT = "rule_"
"""Beginning of the comment of a job that Snakemake has submitted."""


def prepare_run(folder: Path, executor: object) -> None:
    """Prepare a run on a cluster before it submits its first job; do nothing for other runs.

    `folder` is where Snakemake was started, `executor` its plugin that runs the jobs. Raises an
    InputError if jobs of an earlier run are still in Slurm's queue, or Slurm does not answer.
    """
    name = getattr(executor, "name", "")
    if name not in ("slurm", "cluster-generic") or not shutil.which(SQUEUE[0]):
        return
    if jobs := jobs_in_queue(folder):
        raise InputError(
            f"{len(jobs)} jobs of an earlier run are still in Slurm's queue and write results here;"
            " wait until `squeue --me` lists them no more, or cancel them with"
            f" `scancel {' '.join(jobs)}`, then run the same command again"
        )
    if name == "slurm":
        keep_unanswered_jobs()


def jobs_in_queue(folder: Path) -> list[str]:
    """Return the ids of the user's jobs that Snakemake submitted from a folder, and that go on.

    Raises an InputError if Slurm does not answer.
    """
    done = subprocess.run(SQUEUE, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise InputError(
            f"Slurm does not say which jobs are in its queue ({done.stderr.strip()});"
            " run the same command again when it answers"
        )
    rows = (line.split("|", maxsplit=2) for line in done.stdout.splitlines())
    return [
        number
        for number, place, comment in rows
        if comment.startswith(JOB_COMMENT) and Path(place).resolve() == folder.resolve()
    ]


def keep_unanswered_jobs() -> None:
    """Let the plugin of Slurm go on when Slurm does not answer.

    Version 2.8.0 forgets all its jobs after as many questions without an answer as its option
    `status-attempts` says, and then waits for ever. With this it asks again, as after every answer.
    A larger number does not help: while Slurm is silent it asks `sacct`, which never answers where
    Slurm has no accounting database.
    """
    from snakemake_executor_plugin_slurm import Executor

    check = Executor.check_active_jobs

    async def check_and_keep(executor: Any, active_jobs: list[Any]) -> AsyncIterator[Any]:
        """Yield the jobs that are still active: all of them, if Slurm has not answered."""
        answers = executor._status_query_calls
        async for job in check(executor, active_jobs):
            yield job
        if active_jobs and executor._status_query_calls == answers:
            executor.logger.warning("Slurm does not answer; its jobs go on, and it is asked again.")
            for job in active_jobs:
                yield job

    Executor.check_active_jobs = check_and_keep
