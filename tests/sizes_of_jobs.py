"""Peak memory of single jobs, each in a process of its own, beside the memory that it asks for."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import Study
from replication.testing.small import Small

STATUS = Path("/proc/self/status")
PEAK = f"""
import re, time
from pathlib import Path
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("{STATUS}").read_text())[1]
print("peak", peak, time.process_time())
"""
"""Tell the peak memory of a process until now, in KiB, and its seconds on a core.

That of `resource` counts the process that started it, too.
"""
MARKS = [
    pytest.mark.thorough,
    pytest.mark.skipif(not STATUS.exists(), reason="the system does not tell a process's peak"),
]
"""Marks of tests that measure."""
JOB = f"""
import sys
from replication.run.program import main
main.main(sys.argv[1:], standalone_mode=False)
{PEAK}"""
"""A job, as the workflow runs it."""


class Peaks(NamedTuple):
    """What a process took."""

    peaks: list[float]
    """Peak memory in MB, each time that the process told it."""
    seconds: float
    """Time on a core until the last of them."""


class Row(NamedTuple):
    """A job of the table."""

    job: str
    asked: int
    """MB."""
    measured: float
    """MB."""
    seconds: float


def plan(study: Study, folder: Path, changes: Mapping[str, Any], device: str = "cpu") -> Small:
    """The jobs of a study under changes of its defaults, whose files go to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {study.name: dict(changes), "computation": {"device": device}}
    with chdir(folder):
        jobs = Jobs.of(configure(given, {study.name: study}), {study.name: study})
    return Small(study, folder, given, jobs)


def run(program: str, folder: Path, arguments: Iterable[str] = ()) -> Peaks:
    """Run a program on one thread; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, check=False, capture_output=True,
        encoding="utf-8", env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("peak ")]
    return Peaks([int(kib) * 1024 / 1e6 for kib, _ in told], float(told[-1][1]))


def make(small: Small, path: str) -> Peaks:
    """Run the job that makes a file, after the jobs of what it reads."""
    for each in small.jobs.steps[path].reads:
        if each in small.jobs.steps and not (small.folder / each).exists():
            make(small, each)
    return run(JOB, small.folder, small.arguments(path))


def measure(small: Small, path: str) -> Row:
    """Run the job that makes a file, after the jobs of what it reads."""
    task = small.jobs.steps[path]
    (peak,), seconds = make(small, path)
    return Row(path.partition("/")[2].partition("/")[2], task.memory, peak, seconds)


def show(rows: Iterable[Row]) -> None:
    """Print the table, which `pytest -rP` shows."""
    print("\njob | asked MB | measured MB | seconds of one core")
    for each in rows:
        print(f"{each.job} | {each.asked} | {each.measured:.0f} | {each.seconds:.0f}")
