"""Time, processors, GPUs and memory that a run will take."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.base.strict import shorten
from replication.plan.cost import GPU, count_jobs

LONGEST_REASON = 300
"""Largest number of letters of the reason of a job."""
_REASONS = "Reasons:"
"""Beginning of Snakemake's list of reasons, which names every rule."""
SECONDS_OF_UNKNOWN = 1.0
"""Seconds of a job whose time is not known: those of a start of Python."""
_STAGES_OF_RULES = frozenset({"dataset", "evidence", "verdict"})
"""Stages of which each study has many rules, with names that begin with the stage."""


class TimeLeft(logging.Handler):
    """Handler that says after every job how long the rest takes if the pace stays the same."""

    def __init__(self, jobs: Mapping[int, float | None]) -> None:
        """Take the time.

        Args:
            jobs: seconds by identifier; none if they are not known.
        """
        super().__init__()
        self.left = {
            job: SECONDS_OF_UNKNOWN if seconds is None else seconds for job, seconds in jobs.items()
        }
        self.total = sum(self.left.values())
        self.start = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        """Follow Snakemake's events, and write the time that is left after every job."""
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_FINISHED:
            self.left.pop(getattr(record, "job_id", -1), None)
        left = sum(self.left.values())
        if event == LogEvent.PROGRESS and 0 < left < self.total:
            seconds = (time.monotonic() - self.start) * left / (self.total - left)
            text = f"about {tqdm.format_interval(seconds)} left"
            logger.info(text, extra={"quietness": Quietness.PROGRESS})


class Brief(logging.Filter):
    """Filter that keeps a dry run to a page, and reasons to a few lines.

    A dry run counts jobs by stage, not by rule, as many rules make evidence and verdicts. It counts
    them once and lists none. The reason of a job is cut where it tells a whole configuration.
    Whoever asks for the commands of jobs sees everything.
    """

    def __init__(self, is_dry_run: Callable[[], bool], is_whole: Callable[[], bool]) -> None:
        """Take what is known only when jobs are planned.

        Args:
            is_dry_run: says whether jobs are planned and not run.
            is_whole: says whether the user wants to see everything.
        """
        super().__init__()
        self.is_dry_run = is_dry_run
        self.is_whole = is_whole
        self.has_counted = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record; return False for one that a dry run leaves out."""
        if self.is_whole():
            return True
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            record.reason = shorten(getattr(record, "reason", ""), LONGEST_REASON)
        if not self.is_dry_run():
            return True
        if event == LogEvent.RUN_INFO:
            is_first, self.has_counted = not self.has_counted, True
            record.msg = jobs_by_stage(getattr(record, "stats", {}))
            return is_first
        return event != LogEvent.JOB_INFO and not str(record.msg).startswith(_REASONS)


def jobs_by_stage(counts: Mapping[str, int]) -> str:
    """Return the number of jobs of each stage, a line for each.

    Args:
        counts: number of jobs by name of the rule, the total among them.
    """
    stages: Counter[str] = Counter()
    for rule, count in counts.items():
        stage, _, more = rule.partition("_")
        stages[stage if more and stage in _STAGES_OF_RULES else rule] += count
    return "\n".join(["Jobs:", *(f"{count:8d}  {stage}" for stage, count in stages.items())])


class Planned(NamedTuple):
    """One job of a plan."""

    study: str
    """Name of its study; empty if it belongs to none."""
    name: str
    """Name of the job, such as `runs/one/1-5`."""
    seconds: float | None
    """Seconds that it will take; none if they are not known."""
    minutes: int
    """Limit of its run time in minutes; 0 if it has none."""
    memory: int
    """Memory that it asks for, in MB: of the machine, and of the GPU if it computes there."""
    is_on_gpu: bool
    """True if it asks for a GPU."""


class ResourcesPlanned(logging.Handler):
    """Handler that says what the planned jobs will take, and what they replace."""

    def __init__(self, jobs: Callable[[], Iterable[Planned]], replaced: Callable[[], str]) -> None:
        """Wait until the jobs are known; a process that runs one job never asks for any of it.

        Args:
            jobs: returns all of them.
            replaced: returns a sentence on what is replaced, empty if there is nothing to say.
        """
        super().__init__()
        self.jobs = jobs
        self.replaced = replaced
        self.has_spoken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write what the planned jobs take into the log, once Snakemake counts them."""
        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.has_spoken:
            return
        self.has_spoken = True
        if told := planned_resources([*self.jobs()]):
            logger.info(told, extra={"quietness": Quietness.PROGRESS})
        if replaced := self.replaced():
            logger.warning(replaced)


def planned_resources(jobs: list[Planned]) -> str:
    """Return what jobs take: a sentence, or a table with a row for each of several studies.

    Args:
        jobs: what is planned.
    """
    studies = [*dict.fromkeys(job.study for job in jobs)]
    is_rated = any(job.is_on_gpu and job.seconds for job in jobs)
    rate = f"\nA GPU counts as {GPU:.0e} operations a second." * is_rated
    if len(studies) > 1:
        parts = {name: [job for job in jobs if job.study == name] for name in studies}
        rows = [(name or "others", *_cells(part)) for name, part in {**parts, "all": jobs}.items()]
        return "\n".join(_aligned([("study", *_COLUMNS), *rows])) + rate
    told = zip(_COLUMNS, _cells(jobs), strict=True) if jobs else ()
    return "; ".join(f"{column}: {cell}" for column, cell in told if cell) + rate


_COLUMNS = ("jobs", "one GPU", "one processor", "time not known", "most memory of a job")


def _cells(jobs: list[Planned]) -> tuple[str, ...]:
    """Return the cells of a row, see `_COLUMNS`."""
    on_gpu = sum(job.seconds or 0.0 for job in jobs if job.is_on_gpu)
    on_core = sum(job.seconds or 0.0 for job in jobs if not job.is_on_gpu)
    unknown = [job.minutes * 60 for job in jobs if job.seconds is None]
    limit = f"{count_jobs(len(unknown))}, {_long(sum(unknown))} at most"
    largest = min(jobs, key=lambda job: (-job.memory, job.name))
    memory = f"{largest.memory:,} MB, {largest.name}"
    return f"{len(jobs):,}", _long(on_gpu), _long(on_core), limit * bool(unknown), memory


def _long(seconds: float) -> str:
    """Return a time in words; empty if there is none."""
    if seconds < 120:
        return f"{seconds:.0f} seconds" if seconds else ""
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
