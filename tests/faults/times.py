"""Times of files that say too little, or the wrong thing."""

import os
import re
import subprocess
import time
from collections.abc import Callable
from functools import cache

from conftest import ROOT, Project

from faults.evidence import (
    FIGURE,
    Ledger,
    Run,
    Undisturbed,
    copy_finished,
    forget,
    lasting_project,
    run_undisturbed,
    undisturbed,
)
from faults.outcome import Outcome

DOCUMENT = ROOT / "docs/faults.md"
RUNS = [f"results/scan_and_snap/runs/syn_medium/{seed}.npz" for seed in (1, 2)]
EDITS = {
    "training": (
        "src/transformer_dynamics/scan_and_snap/training/optimizer.py",
        "tensor.addcmul_(velocity, rate, value=-1)",
        "tensor.addcmul_(velocity, rate, value=-0.5)",
    ),
    "published values": (
        "src/transformer_dynamics/scan_and_snap/published/fig6.csv",
        "1,0.5,1,1.971,0.028",
        "1,0.5,1,1.5,0.028",
    ),
}
MINUTE, DAY = 60, 24 * 60 * 60
Distort = Callable[[float], float]
"""The time that a file has under a fault, from its real one; both in seconds."""


def coarse_stamps(project: Project, ticks: tuple[int, ...] = (1, 2, MINUTE, DAY)) -> Outcome:
    """All times are whole multiples of a tick, as ext3, FAT and some network file systems do.

    After every step the times of all files are rounded down.
    """
    ledger = Ledger(project.folder, undisturbed(quick=True))
    recoveries = [
        wrong_times(project, ledger, lambda seconds, tick=tick: seconds // tick * tick, always=True)
        for tick in ticks
    ]
    where = f"{FIGURE}, small: times in whole {', '.join(map(str, ticks))} seconds"
    return ledger.outcome("coarse time stamps", where, len(ticks), recoveries)


def clock_set_back(project: Project, jumps: tuple[int, ...] = (MINUTE, 10 * DAY)) -> Outcome:
    """The clock goes back, so that all files there are come from the future.

    The files are put forward once, which is the same to everyone who compares times. (A library
    that shows programs another clock is not: the kernel stamps files with the real one.)
    """
    ledger = Ledger(project.folder, undisturbed(quick=True))
    recoveries = [
        wrong_times(project, ledger, lambda seconds, jump=jump: seconds + jump, always=False)
        for jump in jumps
    ]
    where = f"{FIGURE}, small: back by {', '.join(map(str, jumps))} seconds"
    return ledger.outcome("clock set back", where, len(jumps), recoveries)


def wrong_times(project: Project, ledger: Ledger, distort: Distort, always: bool) -> float:
    """Finished results get wrong times; nothing may run again before an edit, and nothing stale be
    left after it.

    The training is edited and trained alone, by its own target, so that Snakemake has only the
    times and the contents to see in its next run that the measures are stale.
    """
    finished = undisturbed(quick=True)
    copy_finished(finished.folder, project)
    ledger.finished = set(finished.outputs)
    set_times(project, distort)
    began = time.monotonic()
    run = Run(project, FIGURE, quick=True).succeed()
    assert run.goes_on
    ledger.enter(run)
    for edit, steps in (("training", [RUNS, [FIGURE]]), ("published values", [[FIGURE]])):
        project.edit(*EDITS[edit])
        for targets in steps:
            if always:
                set_times(project, distort)
            make(project, targets)
    after = Ledger(project.folder, edited())
    after.complete()
    ledger.lost += after.lost
    ledger.corrupt += after.corrupt
    for path, old, new in EDITS.values():
        project.edit(path, new, old)
    forget(project)
    ledger.start_over()
    return run.goes_on - began


def make(project: Project, targets: list[str]) -> None:
    """Make targets; if results are older than their inputs, do what the document says."""
    run = Run(project, *targets, quick=True)
    run.ended()
    if run.process.returncode:
        assert "has older modification time" in run.text, run.text
        (row,) = re.findall("^.*has older modification time.*$", DOCUMENT.read_text(), re.MULTILINE)
        (command,) = re.findall("`(find [^`]*)`", row)
        subprocess.run(command, shell=True, cwd=project.folder, check=True)
        Run(project, *targets, quick=True).succeed()


@cache
def edited() -> Undisturbed:
    """The undisturbed small run of a project with all edits."""
    project = lasting_project()
    for edit in EDITS.values():
        project.edit(*edit)
    return run_undisturbed(project, quick=True)


def set_times(project: Project, distort: Distort) -> None:
    """Change the time of every file of a project, its source included."""
    for path in project.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            seconds = distort(path.stat().st_mtime)
            os.utime(path, (seconds, seconds))
