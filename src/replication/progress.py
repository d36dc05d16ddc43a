"""How long the rest of a run will take, from what its jobs took when they were last measured."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.seconds import expected, foreseen


class TimeLeft(logging.Handler):
    """Says after every job how long the others will take, if the machine goes on as before."""

    def __init__(self, jobs: Iterable[tuple[int, str]], recorded: Mapping[str, float]) -> None:
        """Take the time.

        Args:
            jobs: identifier of each and the path of its benchmark, or "".
            recorded: see `replication.seconds.read_recorded`.
        """
        super().__init__()
        self.left = {job: expected(path, recorded) for job, path in jobs}
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


class TimePlanned(logging.Handler):
    """Says how long what is planned will take one processor."""

    def __init__(
        self, benchmarks: Callable[[], Iterable[str]], recorded: Mapping[str, float]
    ) -> None:
        """Wait until the jobs are known.

        Args:
            benchmarks: returns the path of each job's benchmark, or "" for one that measures
                nothing.
            recorded: see `replication.seconds.read_recorded`.
        """
        super().__init__()
        self.benchmarks = benchmarks
        self.recorded = recorded
        self.has_spoken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Speak where Snakemake counts the jobs, the first time."""
        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.has_spoken:
            return
        self.has_spoken = True
        took = [foreseen(path, self.recorded) for path in self.benchmarks() if path]
        known = [seconds for seconds in took if seconds is not None]
        unknown = len(took) - len(known)
        rest = f"; jobs that are not recorded: {unknown}" if unknown else ""
        told = f"about {tqdm.format_interval(sum(known))} of one processor{rest}"
        logger.info(told, extra={"quietness": Quietness.PROGRESS})
