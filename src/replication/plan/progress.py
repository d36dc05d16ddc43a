"""Words that a run adds to Snakemake's: what a plan takes and replaces, and the time left."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from replication.base.strict import shorten
from replication.plan.cost import Planned, cost_in_words, count_jobs, largest_job

LONGEST_REASON = 300
"""Largest number of letters of the reason of a job."""
_REASONS = "Reasons:"
"""Beginning of Snakemake's list of reasons, which names every rule."""
SECONDS_OF_UNKNOWN = 1.0
"""Seconds of a job whose time is not known: those of a start of Python."""
_STAGES_OF_RULES = frozenset({"dataset", "evidence", "verdict"})
"""Stages of which each study has many rules, with names that begin with the stage."""


class ResourcesPlanned(logging.Handler):
    """Handler that says once, when jobs are counted, what they take and what they replace."""

    def __init__(
        self, jobs: Callable[[], Collection[Planned]], replaced: Callable[[], str]
    ) -> None:
        super().__init__()
        self.jobs, self.replaced = jobs, replaced
        self.has_spoken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write both into the log; a process that runs one job counts none and says nothing."""
        if getattr(record, "event", None) != LogEvent.RUN_INFO or self.has_spoken:
            return
        self.has_spoken = True
        if jobs := self.jobs():
            told = f"{count_jobs(len(jobs))}: {cost_in_words(jobs)}: {largest_job(jobs).path}"
            logger.info(told, extra={"quietness": Quietness.PROGRESS})
        if replaced := self.replaced():
            logger.warning(replaced)


class TimeLeft(logging.Handler):
    """Handler that says after every job how long the rest takes if the pace stays the same."""

    def __init__(self, jobs: Mapping[int, float | None]) -> None:
        """Take the seconds of each job by its number; none if they are not known."""
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
