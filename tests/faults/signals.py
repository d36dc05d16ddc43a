"""Snakemake and its jobs are stopped by a signal, at random moments."""

import os
import random
import signal
import time
from pathlib import Path

import psutil
from conftest import PATIENCE, Project

from faults.evidence import FIGURE, Ledger, Run, forget, scale, undisturbed
from faults.outcome import Outcome


def killed(project: Project, times: int = 50, quick: bool = False) -> Outcome:
    """SIGKILL to Snakemake and all its jobs; unlock, then the same command again."""
    return stopped(project, "SIGKILL", "of Snakemake and its jobs", times, quick)


def interrupted(project: Project, times: int = 10, quick: bool = True) -> Outcome:
    """Ctrl-C: SIGINT to Snakemake and all its jobs; the same command again."""
    return stopped(project, "SIGINT", "of Snakemake and its jobs (Ctrl-C)", times, quick)


def terminated(project: Project, times: int = 10, quick: bool = True) -> Outcome:
    """SIGTERM to Snakemake alone, as `kill` sends it; the same command again."""
    return stopped(project, "SIGTERM", "of Snakemake (kill)", times, quick)


def stopped(project: Project, name: str, what: str, times: int, quick: bool) -> Outcome:
    """Stop a run again and again.

    Each run is stopped after a random part, between none and all, of the time that an undisturbed
    run takes, and goes on from there. One that is faster completes; then everything is compared
    with the undisturbed run and removed, and the next starts from nothing.
    """
    expected = undisturbed(quick)
    ledger = Ledger(project.folder, expected)
    moments = random.Random(name)
    injected = completions = 0
    recoveries: list[float] = []
    run, began = Run(project, FIGURE, quick=quick), None
    while True:
        last = injected == times
        completed = run.ended(None if last else moments.uniform(0, expected.seconds))
        if not completed:
            stop(run, name, project)
            injected += 1
        if began and run.goes_on:
            recoveries.append(run.goes_on - began)
        ledger.enter(run)
        began = None if completed else time.monotonic()
        if completed:
            assert run.process.returncode == 0, run.text
            ledger.complete()
            completions += 1
            if last:
                break
            forget(project)
            ledger.start_over()
        elif name == "SIGKILL":
            recover(project)
        run = Run(project, FIGURE, quick=quick)
    where = f"{FIGURE}, {scale(quick)}: random moments of {completions} completions"
    if ledger.repeated:
        where += f"; {ledger.repeated} jobs were done but not recorded yet and ran again"
    return ledger.outcome(f"{name} {what}", where, injected, recoveries)


def stop(run: Run, name: str, project: Project) -> None:
    """Send the signal and wait until nothing runs in the project's folder any more."""
    number = signal.Signals[name]
    if name == "SIGTERM":
        os.kill(run.process.pid, number)
    else:
        os.killpg(run.process.pid, number)
    run.ended()
    deadline = time.monotonic() + PATIENCE
    while left := alive(project):
        assert time.monotonic() < deadline, f"{left} still running after {name}"
        time.sleep(0.01)


def alive(project: Project) -> list[int]:
    """Ids of the processes that work in the project's folder."""
    found = psutil.process_iter(["cwd"])
    return [process.pid for process in found if process.info["cwd"] == str(project.folder)]


def recover(project: Project, place: Path | None = None) -> None:
    """What `make recover` does after a kill, for the project or another working folder."""
    project.run("--unlock", *(["--directory", str(place)] if place else []))
