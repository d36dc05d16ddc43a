"""Peak memory of single jobs, each in a process of its own, against the memory that it asks for."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import Study
from replication.testing.small import Small

PROGRAM = """
import resource, sys
from replication.run.program import main
main.main(sys.argv[1:], standalone_mode=False)
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""A job, as the workflow runs it, and its peak memory in KiB."""


class Measured(NamedTuple):
    """One job."""

    job: str
    asked: int
    """MB that the job asks for."""
    peak: float
    """MB that it had at most."""
    seconds: float


def plan(study: Study, folder: Path, changes: Mapping[str, Any]) -> Small:
    """The jobs of a study under changes of its defaults, whose files go to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {study.name: dict(changes)}
    with chdir(folder):
        jobs = Jobs.of(configure(given, {study.name: study}), {study.name: study})
    return Small(study, folder, given, jobs)


def measure(small: Small, path: str) -> Measured:
    """Run the job that makes a file; files that it reads are made before."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *small.arguments(path)],
        cwd=small.folder, capture_output=True, encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"{path}: {done.stderr[-2000:]}"
    (peak,) = (int(line.split()[1]) for line in done.stdout.splitlines() if line[:5] == "peak ")
    asked = small.jobs.tasks[path].memory
    return Measured(path, asked, peak * 1024 / 1e6, time.monotonic() - begun)


def show(found: list[Measured]) -> None:
    """Print a table, which `pytest -rP` shows."""
    print("\njob | asked MB | measured MB | seconds")
    for each in found:
        print(f"{each.job} | {each.asked} | {each.peak:.0f} | {each.seconds:.0f}")
