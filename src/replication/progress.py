"""How long the rest of a run will take, from what its jobs took when they were last measured."""

import csv
import logging
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

SUFFIX = ".benchmark.tsv"
UNKNOWN = 1.0
"""Seconds of a job of which nothing is known: a start of Python."""


def measured(path: Path) -> float:
    """Seconds of processor time that Snakemake wrote down for a job; other jobs do not count."""
    with path.open(newline="") as stream:
        return mean(float(row["cpu_time"]) for row in csv.DictReader(stream, delimiter="\t"))


def read_recorded(path: Path) -> dict[str, float]:
    """Seconds by path of a job's benchmark, without its suffix: what `benchmarks.jobs` wrote."""
    with path.open(newline="") as stream:
        return {row["job"]: float(row["seconds"]) for row in csv.DictReader(stream)}


def expected(benchmark: str, recorded: Mapping[str, float]) -> float:
    """Seconds that a job will take: as here before, as recorded, or as those beside it.

    Args:
        benchmark: path of the file in which Snakemake writes down what it took.
        recorded: see `read_recorded`.
    """
    try:
        return measured(Path(benchmark))
    except (OSError, ValueError, KeyError):  # not made here yet, or by another Snakemake
        job = benchmark.removesuffix(SUFFIX)
    if job in recorded:
        return recorded[job]
    folder = f"{Path(job).parent}/"
    return mean([each for name, each in recorded.items() if name.startswith(folder)] or [UNKNOWN])


class TimeLeft(logging.Handler):
    """Says after every job how long the others will take, if the machine goes on as before."""

    def __init__(self, jobs: Iterable[tuple[int, str]], recorded: Mapping[str, float]) -> None:
        """Take the time.

        Args:
            jobs: identifier of each and the path of its benchmark, or "".
            recorded: see `read_recorded`.
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
