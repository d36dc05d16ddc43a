"""Words that a run adds to Snakemake's: what a plan takes and replaces, and the time left."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.base.strict import shorten
from replication.plan.costs import Planned, cost_in_words, count_jobs, largest_job

LONGEST_REASON = 300
"""Largest number of letters of the reason of a job."""
_REASONS = "Reasons:"
"""Beginning of Snakemake's list of reasons, which names every rule."""
SECONDS_OF_UNKNOWN = 1.0
"""Seconds of a job whose time is not known: those of a start of Python."""
_STAGES_OF_RULES = frozenset({"dataset", "evidence", "verdict"})
"""Stages of which each study has many rules, with names that begin with the stage."""


class Forecast(logging.Handler):
    """Handler that says once what a plan takes and replaces, then after every job the time left.

    The rest takes as long as the jobs say, if the pace stays the same.
    """

    def __init__(
        self, jobs: Callable[[], Mapping[int, Planned | None]], replaced: Callable[[], str]
    ) -> None:
        """Wait until jobs are counted; a process that runs one job never asks for any of it.

        Args:
            jobs: returns the planned jobs by their numbers; none for those of no account.
            replaced: returns a sentence on the files that are replaced, empty if there are none.
        """
        super().__init__()
        self.jobs, self.replaced = jobs, replaced
        self.left: dict[int, float] | None = None
        self.total = self.start = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Follow Snakemake's events."""
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO and self.left is None:
            self._begin(self.jobs())
            if replaced := self.replaced():
                logger.warning(replaced)
        if not self.left:
            return
        if event == LogEvent.JOB_FINISHED:
            self.left.pop(getattr(record, "job_id", -1), None)
        left = sum(self.left.values())
        if event == LogEvent.PROGRESS and 0 < left < self.total:
            seconds = (time.monotonic() - self.start) * left / (self.total - left)
            _say(f"about {tqdm.format_interval(seconds)} left")

    def _begin(self, planned: Mapping[int, Planned | None]) -> None:
        self.left = {
            number: SECONDS_OF_UNKNOWN if job is None or job.seconds is None else job.seconds
            for number, job in planned.items()
        }
        self.total, self.start = sum(self.left.values()), time.monotonic()
        if jobs := [*filter(None, planned.values())]:
            _say(f"{count_jobs(len(jobs))}: {cost_in_words(jobs)}: {largest_job(jobs).path}")


def _say(text: str) -> None:
    logger.info(text, extra={"quietness": Quietness.PROGRESS})


class Brief(logging.Filter):
    """Filter that keeps a dry run to a page, and reasons to a few lines.

    A dry run counts jobs once, by stage, as many rules make evidence and verdicts, and lists none.
    The reason of a job is cut where it tells a whole configuration. Whoever asks for the commands
    of jobs sees everything.
    """

    def __init__(self, workflow: Any) -> None:
        """Take Snakemake's workflow, which knows its options only when jobs are planned."""
        super().__init__()
        self.workflow = workflow
        self.has_counted = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record; return False for one that a dry run leaves out."""
        shown = self.workflow.output_settings
        if shown.printshellcmds or shown.verbose:
            return True
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            record.reason = shorten(getattr(record, "reason", ""), LONGEST_REASON)
        if not self.workflow.dryrun:
            return True
        if event == LogEvent.RUN_INFO:
            is_first, self.has_counted = not self.has_counted, True
            record.msg = jobs_by_stage(getattr(record, "stats", {}))
            return is_first
        return event != LogEvent.JOB_INFO and not str(record.msg).startswith(_REASONS)


def jobs_by_stage(counts: Mapping[str, int]) -> str:
    """Return the number of jobs of each stage, a line for each, from those of each rule."""
    stages: Counter[str] = Counter()
    for rule, count in counts.items():
        stage, _, more = rule.partition("_")
        stages[stage if more and stage in _STAGES_OF_RULES else rule] += count
    return "\n".join(["Jobs:", *(f"{count:8d}  {stage}" for stage, count in stages.items())])
