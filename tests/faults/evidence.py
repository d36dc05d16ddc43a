"""What became of results, counted from Snakemake's list of jobs and from the bytes of the files."""

import atexit
import hashlib
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from conftest import Project

from faults.outcome import Outcome

FIGURE = "figures/fig6.pdf"
MADE = ("results", "figures", "logs", ".snakemake")
"""The folders that a run makes; everything else is the product."""
STARTED = re.compile(r"Job (\d+): .*\(log: (\S+)\)$")
FINISHED = re.compile(r"Finished jobid: (\d+) ")
NOTHING_LEFT = "Nothing to be done"


class Event(NamedTuple):
    """A job, named by its log file, that Snakemake says to have started or finished."""

    seconds: float
    """On the clock of `time.monotonic`."""
    kind: str
    """`started` or `finished`."""
    job: str


class Run:
    """A Snakemake in its own process group, and what it says at which time."""

    def __init__(self, project: Project, *arguments: str, quick: bool) -> None:
        self.began = time.monotonic()
        with interruptible():
            self.process = project.start(*arguments, quick=quick)
        self.lines: list[tuple[float, str]] = []
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as stream:
            for line in stream:
                self.lines.append((time.monotonic(), line.rstrip("\n")))

    def ended(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most `timeout` seconds; whether it has come."""
        self._reader.join(timeout)
        if self._reader.is_alive():
            return False
        self.process.wait()
        return True

    def succeed(self) -> "Run":
        """Wait for the end, which must be a good one."""
        self.ended()
        assert self.process.returncode == 0, self.text
        return self

    def fail(self) -> "Run":
        """Wait for the end, which must be an error."""
        self.ended()
        assert self.process.returncode != 0, self.text
        return self

    @property
    def text(self) -> str:
        """What Snakemake has printed."""
        return "\n".join(line for _, line in self.lines)

    @property
    def events(self) -> list[Event]:
        """The jobs that it started and finished, in order of time."""
        names, found = {}, []
        for seconds, line in list(self.lines):
            if match := STARTED.match(line):
                number, names[number] = match.group(1), match.group(2)
                found.append(Event(seconds, "started", names[number]))
            elif (match := FINISHED.match(line)) and match.group(1) in names:
                found.append(Event(seconds, "finished", names[match.group(1)]))
        return found

    @property
    def goes_on(self) -> float | None:
        """When its first job started or nothing was left to do, on the clock of `began`."""
        steps = (
            seconds
            for seconds, line in list(self.lines)
            if STARTED.match(line) or NOTHING_LEFT in line
        )
        return next(steps, None)

    def wait_for_a_job(self) -> None:
        """Wait until its first job has started."""
        while not self.events:
            assert self.process.poll() is None, f"ended too early\n{self.text}"
            time.sleep(0.005)

    def wait_for_a_step(self) -> None:
        """Wait until it does something, or has nothing to do, or is refused."""
        while not self.goes_on and self.process.poll() is None:
            time.sleep(0.005)


def scale(quick: bool) -> str:
    """How large the workflow is, in words."""
    return "small" if quick else "the paper's scale"


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a child notice signals even if a shell started this process with them ignored."""
    ignorable = (signal.SIGINT, signal.SIGHUP)
    before = {each: signal.signal(each, signal.default_int_handler) for each in ignorable}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class Undisturbed(NamedTuple):
    """A run without any fault, against which all others are held."""

    folder: Path
    """The project in which it ran."""
    digests: dict[str, str]
    """Relative path to SHA-256 of every file that it left in results/ and figures/."""
    outputs: dict[str, list[str]]
    """Job, named by its log file, to the paths of its results."""
    seconds: float
    """How long it took."""


def digests(folder: Path) -> dict[str, str]:
    """Relative path to SHA-256 of all visible files in results/ and figures/ of a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("results", "figures")
        for path in sorted((folder / name).rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def run_undisturbed(project: Project, quick: bool, figure: str = FIGURE) -> Undisturbed:
    """Make a figure, if it is not there yet, and look at everything that this leaves."""
    began = time.monotonic()
    Run(project, figure, quick=quick).succeed()
    seconds = time.monotonic() - began
    outputs: dict[str, list[str]] = {}
    for line in project.run(figure, "--summary", quick=quick).splitlines():
        match line.split("\t"):
            case [path, _date, _rule, log, _status, _plan] if log.endswith(".log"):
                outputs.setdefault(log, []).append(path)
    found = digests(project.folder)
    assert {path for paths in outputs.values() for path in paths} < set(found)
    return Undisturbed(project.folder, found, outputs, seconds)


@cache
def undisturbed(quick: bool) -> Undisturbed:
    """The undisturbed run, small or at the paper's scale; there is one of each in a process."""
    return run_undisturbed(lasting_project(), quick)


def lasting_project() -> Project:
    """A copy of the project that is there until this process ends."""
    folder = tempfile.mkdtemp(prefix="undisturbed-")
    atexit.register(shutil.rmtree, folder)
    return Project(Path(folder)).one_seed_per_job()


def copy_finished(source: Path, project: Project) -> None:
    """Give a fresh project the results of a finished one, with Snakemake's records."""
    for name in MADE:
        shutil.copytree(source / name, project.folder / name)


def forget(project: Project) -> None:
    """Remove everything that runs have made."""
    for name in MADE:
        shutil.rmtree(project.folder / name, ignore_errors=True)


class Ledger:
    """Counts what happens to the results of one folder.

    Every run must be entered as soon as it has ended, before anything else is started.
    """

    def __init__(self, folder: Path, expected: Undisturbed) -> None:
        self.folder = folder
        self.expected = expected
        self.finished: set[str] = set()
        """Jobs that Snakemake has reported as finished and whose results are still there."""
        self.unrecorded: set[str] = set()
        """Jobs whose results are whole though Snakemake was stopped before it recorded them."""
        self.lost = self.duplicated = self.corrupt = 0
        self.repeated = 0
        """Executions of jobs that were `unrecorded`: work that a stop costs, beside the rest."""

    def enter(self, *runs: Run) -> None:
        """Count what runs did that went on at the same time."""
        running: list[str] = []
        for event in sorted(event for run in runs for event in run.events):
            if event.kind == "started":
                self.duplicated += event.job in self.finished or event.job in running
                self.repeated += event.job in self.unrecorded
                running.append(event.job)
            else:
                running.remove(event.job)
                self.finished.add(event.job)
        self.look()

    def look(self) -> None:
        """Count finished results that are gone or have other bytes than they should."""
        found = digests(self.folder)
        for job, paths in self.expected.outputs.items():
            gone = [path for path in paths if path not in found]
            wrong = [path for path in paths if found.get(path) != self.expected.digests[path]]
            if job in self.finished:
                self.lost += len(gone)
                self.corrupt += len(wrong) - len(gone)
                if wrong:
                    self.finished.remove(job)
        self.unrecorded = {
            job
            for job, paths in self.expected.outputs.items()
            if job not in self.finished
            and all(found.get(path) == self.expected.digests[path] for path in paths)
        }

    def complete(self) -> None:
        """Count results that are still missing, wrong or superfluous where all should be there."""
        found = digests(self.folder)
        self.lost += len(self.expected.digests.keys() - found.keys())
        self.corrupt += sum(
            self.expected.digests.get(path) != digest for path, digest in found.items()
        )

    def start_over(self) -> None:
        """Count on, after the results were removed on purpose."""
        self.finished, self.unrecorded = set(), set()

    def outcome(
        self, fault: str, where: str, injected: int, recovery_seconds: list[float]
    ) -> Outcome:
        """What was counted."""
        assert injected > 0, f"{fault} did not happen"
        return Outcome(
            fault, where, injected, self.lost, self.duplicated, self.corrupt, max(recovery_seconds)
        )
