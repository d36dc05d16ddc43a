"""The disk is full, or may not be written."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from conftest import Project

from faults.evidence import FIGURE, MADE, NOTHING_LEFT, Ledger, Run, forget, undisturbed
from faults.outcome import Outcome
from faults.signals import recover

PAGE = 4096
DATA = [f"results/scan_and_snap/data/syn_medium/{seed}.npz" for seed in (1, 2)]


@cache
def can_mount() -> bool:
    """Whether this user may mount file systems: root usually may, but not in every container."""
    if os.geteuid():
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            with mounted(Path(folder), "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
                return True
        except subprocess.CalledProcessError:
            return False


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount something on a folder for a while."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def room_needed(folder: Path) -> int:
    """Bytes that the files below a folder take, in whole pages."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in files)


def disk_full(
    project: Project, shares: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9), quick: bool = True
) -> Outcome:
    """The disk of the results holds only a share of them; then there is more room."""
    if not can_mount():
        return files_too_large(project, shares, quick)
    expected = undisturbed(quick)
    ledger = Ledger(project.folder, expected)
    results = project.folder / "results"
    recoveries = []
    for share in shares:
        size = int(share * room_needed(expected.folder / "results")) // PAGE * PAGE
        with mounted(results, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
            run = Run(project, FIGURE, quick=quick).fail()
            assert "cannot be written (No space left on device); make room" in run.text
            assert "Traceback" not in run.text, run.text
            ledger.enter(run)
            enlarge(results)
            recoveries.append(go_on(project, ledger, FIGURE, quick=quick))
        forget(project)
        ledger.start_over()
    shown = ", ".join(f"{share:.0%}" for share in shares)
    where = f"{FIGURE}, small: results/ with {shown} of the room"
    return ledger.outcome("disk full, then more room", where, len(shares), recoveries)


def files_too_large(project: Project, shares: tuple[float, ...], quick: bool) -> Outcome:
    """What a user who cannot mount a small disk can do: limit the size of files."""
    expected = undisturbed(quick)
    ledger = Ledger(project.folder, expected)
    largest = max(path.stat().st_size for path in (expected.folder / "results").rglob("*.npz"))
    recoveries = []
    for share in shares:
        run = Run(project, FIGURE, quick=quick)
        limit = int(share * largest)
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        run.fail()
        assert "cannot be written (File too large); make room" in run.text
        ledger.enter(run)
        recoveries.append(go_on(project, ledger, FIGURE, quick=quick))
        forget(project)
        ledger.start_over()
    shown = ", ".join(f"{share:.0%}" for share in shares)
    where = f"{FIGURE}, small: files of at most {shown} of the largest"
    return ledger.outcome("files too large, then no limit", where, len(shares), recoveries)


def everything_full(project: Project, quick: bool = True) -> Outcome:
    """As `disk_full`, but Snakemake's records and all logs are on the same disk."""
    expected = undisturbed(quick)
    place = project.folder / "small"
    ledger = Ledger(place, expected)
    arguments = (FIGURE, "--directory", "small")
    needed = sum(room_needed(expected.folder / name) for name in MADE)
    shares = [share / 10 for share in range(2, 10)]
    recoveries = []
    for share in shares:
        size = int(share * needed) // PAGE * PAGE
        with mounted(place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
            ledger.enter(Run(project, *arguments, quick=quick).fail())
            enlarge(place)
            recover(project, place)
            recoveries.append(go_on(project, ledger, *arguments, quick=quick))
        ledger.start_over()
    where = f"{FIGURE}, small: the working folder with 20 % to 90 % of room"
    return ledger.outcome("disk of the whole folder full", where, len(shares), recoveries)


def read_only(project: Project, quick: bool = True) -> Outcome:
    """The results may not be written: with nothing there, with the data, with everything."""
    expected = undisturbed(quick)
    ledger = Ledger(project.folder, expected)
    (project.folder / "results").mkdir()
    recoveries = []
    for ready in ([], DATA, [FIGURE]):
        if ready:
            ledger.enter(Run(project, *ready, quick=quick).succeed())
        with not_writable(project.folder / "results"):
            run = Run(project, FIGURE, quick=quick)
            if ready == [FIGURE]:
                assert NOTHING_LEFT in run.succeed().text
            else:
                reasons = ("Read-only file system", "Permission denied")
                assert any(reason in run.fail().text for reason in reasons), run.text
                assert "Traceback" not in run.text, run.text
            ledger.enter(run)
        again = Run(project, *(ready or DATA), quick=quick).succeed()
        ledger.enter(again)
        assert again.goes_on
        recoveries.append(again.goes_on - again.began)
    ledger.complete()
    where = f"{FIGURE}, small: with nothing, the data and everything made"
    return ledger.outcome("results/ read-only, then writable", where, 3, recoveries)


@contextmanager
def not_writable(folder: Path) -> Iterator[None]:
    """Take away the permission to write below a folder; root is stopped by a read-only mount."""
    if can_mount():
        with mounted(folder, "--bind", str(folder)):
            subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
            yield
        return
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def enlarge(folder: Path) -> None:
    """Make room on a tmpfs."""
    subprocess.run(["mount", "-o", "remount,size=256m", str(folder)], check=True)


def go_on(project: Project, ledger: Ledger, *arguments: str, quick: bool) -> float:
    """Run to the end, compare everything, and return how long it took to go on."""
    run = Run(project, *arguments, quick=quick).succeed()
    ledger.enter(run)
    ledger.complete()
    assert run.goes_on
    return run.goes_on - run.began
