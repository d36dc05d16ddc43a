"""How long the rest of a run will take, from what its jobs took when they were last measured."""

import logging
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.plan.cost import GPU, seconds_on_core
from replication.plan.recorded_times import Records, expected, foreseen


class TimeLeft(logging.Handler):
    """Says after every job how long the others will take, if the machine goes on as before."""

    def __init__(self, jobs: Iterable[tuple[int, str]], records: Records) -> None:
        """Take the time.

        Args:
            jobs: identifier of each and the path of its benchmark, or "".
            records: of jobs elsewhere.
        """
        super().__init__()
        self.left = {job: expected(path, records) for job, path in jobs}
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
            told = f"about {tqdm.format_interval(seconds)} left"
            logger.info(told, extra={"quietness": Quietness.PROGRESS})


class Planned(NamedTuple):
    """One job of a plan."""

    benchmark: str
    """Path of the file in which Snakemake writes down what it takes, or ""."""
    operations: float
    """Floating-point operations of its training; 0 if nobody has counted."""
    is_on_gpu: bool
    """Whether a GPU makes them."""


class TimePlanned(logging.Handler):
    """Says how long what is planned will take one processor, and one GPU."""

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

    A job takes as long as it took; where that is not known, its operations say it.

    Args:
        jobs: what is planned.
        records: of jobs elsewhere.
    """
    on_core = on_gpu = 0.0
    unknown = 0
    for job in jobs:
        known = foreseen(job.benchmark, records)
        if job.is_on_gpu and job.operations:
            on_gpu += job.operations / GPU
        elif (seconds := seconds_on_core(known, job.operations)) is not None:
            on_core += seconds
        else:
            unknown += bool(job.benchmark)
    told = f"about {tqdm.format_interval(on_core)} of one processor"
    if on_gpu:
        told += f" and {on_gpu / 3600:,.1f} hours of one GPU at {GPU:.0e} operations a second"
    return f"{told}; jobs that are not recorded: {unknown}" if unknown else told
