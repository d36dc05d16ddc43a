"""How long the rest of a run will take, from what its jobs took when they were last measured."""

import logging
import time
from collections.abc import Iterable, Mapping

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.seconds import expected


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
