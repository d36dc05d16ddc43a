"""Time that a run will take, from the times of its jobs when they were last measured."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.plan.cost import GPU, seconds_on_core
from replication.plan.recorded_times import Records, expected_seconds, foreseen_seconds


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
        """Follow Snakemake's events."""
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_FINISHED:
            self.left.pop(getattr(record, "job_id", -1), None)
        left = sum(self.left.values())
        if event == LogEvent.PROGRESS and 0 < left < self.total:
            seconds = (time.monotonic() - self.start) * left / (self.total - left)
            text = f"about {tqdm.format_interval(seconds)} left"
            logger.info(text, extra={"quietness": Quietness.PROGRESS})


class Planned(NamedTuple):
    """One job of a plan."""

    benchmark: str
    """Path of the file in which Snakemake writes down the job's time, or ""."""
    operations: float
    """Floating-point operations of its training; 0 if nobody has counted."""
    is_on_gpu: bool
    """True if a GPU makes these operations."""


class TimePlanned(logging.Handler):
    """Handler that says how long the planned jobs will take one processor, and one GPU."""

    def __init__(
        self,
        jobs: Callable[[], Iterable[Planned]],
        records: Callable[[], Records],
        note: Callable[[], str],
    ) -> None:
        """Wait until the jobs are known; a process that runs one job never asks for any of it.

        Args:
            jobs: returns all of them.
            records: returns those of jobs elsewhere.
            note: returns what is added.
        """
        super().__init__()
        self.jobs = jobs
        self.records = records
        self.note = note
        self.has_spoken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Speak where Snakemake counts the jobs, the first time."""
        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.has_spoken:
            return
        self.has_spoken = True
        told = planned_time(self.jobs(), self.records()) + self.note()
        logger.info(told, extra={"quietness": Quietness.PROGRESS})


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
    text = f"about {tqdm.format_interval(on_core)} of one processor"
    if on_gpu:
        text += f" and {on_gpu / 3600:,.1f} hours of one GPU at {GPU:.0e} operations a second"
    return f"{text}; jobs that are not recorded: {unknown}" if unknown else text
