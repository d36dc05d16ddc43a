"""Time that a run will take, from the times of its jobs when they were last measured."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.base.strict import shorten
from replication.plan.cost import GPU, seconds_on_core
from replication.plan.recorded_times import Records, expected_seconds, foreseen_seconds

LONGEST_REASON = 300
"""Largest number of letters of the reason of a job."""
_REASONS = "Reasons:"
"""Beginning of Snakemake's list of reasons, which names every rule."""
_STAGES_OF_RULES = frozenset({"dataset", "evidence", "verdict"})
"""Stages of which each study has many rules, with names that begin with the stage."""


class TimeLeft(logging.Handler):
    """Handler that says after every job how long the rest takes if the pace stays the same."""

    def __init__(self, jobs: Iterable[tuple[int, str]], records: Records) -> None:
        """Take the time.

        Args:
            jobs: identifier of each and the path of its benchmark, or "".
            records: of jobs elsewhere.
        """
        super().__init__()
        self.left = {job: expected_seconds(path, records) for job, path in jobs}
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

    benchmark: str
    """Path of the file in which Snakemake writes down the job's time, or ""."""
    operations: float
    """Floating-point operations of the job's training; 0 if nobody has counted."""
    is_on_gpu: bool
    """True if a GPU makes these operations."""


class TimePlanned(logging.Handler):
    """Handler that says how long the planned jobs will take, and what they replace."""

    def __init__(
        self,
        jobs: Callable[[], Iterable[Planned]],
        records: Callable[[], Records],
        note: Callable[[], str],
        replaced: Callable[[], str],
    ) -> None:
        """Wait until the jobs are known; a process that runs one job never asks for any of it.

        Args:
            jobs: returns all of them.
            records: returns those of jobs elsewhere.
            note: returns what is added.
            replaced: returns a sentence on what is replaced, empty if there is nothing to say.
        """
        super().__init__()
        self.jobs = jobs
        self.records = records
        self.note = note
        self.replaced = replaced
        self.has_spoken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write the time of the planned jobs into the log, once Snakemake counts them."""
        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.has_spoken:
            return
        self.has_spoken = True
        told = planned_time(self.jobs(), self.records()) + self.note()
        logger.info(told, extra={"quietness": Quietness.PROGRESS})
        if replaced := self.replaced():
            logger.warning(replaced)


def planned_time(jobs: Iterable[Planned], records: Records) -> str:
    """Return the time of all jobs in words.

    The recorded time of a job counts; where that is not known, its operations say it.

    Args:
        jobs: what is planned.
        records: of jobs elsewhere.
    """
    on_core = on_gpu = 0.0
    unknown = 0
    for job in jobs:
        known = foreseen_seconds(job.benchmark, records)
        if job.is_on_gpu and job.operations:
            on_gpu += job.operations / GPU
        elif (seconds := seconds_on_core(known, job.operations)) is not None:
            on_core += seconds
        else:
            unknown += bool(job.benchmark)
    if unknown and not (on_core or on_gpu):
        return f"nobody has recorded how long these {unknown} jobs take"
    text = f"about {tqdm.format_interval(on_core)} of one processor"
    if on_gpu:
        text += f" and {on_gpu / 3600:,.1f} hours of one GPU at {GPU:.0e} operations a second"
    return f"{text}; jobs that are not recorded: {unknown}" if unknown else text
