"""What a fault does to the results, in numbers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from conftest import Project


class Outcome(NamedTuple):
    """What became of a project's results under a fault, counted from files and logs.

    A result counts as finished once Snakemake has recorded its job as finished.
    """

    fault: str
    """What was done, in a few words: "SIGKILL of Snakemake and its jobs"."""
    where: str
    """At which moment or place, and to which workflow: "random moments, figures/fig6.pdf"."""
    injected: int
    """How many times the fault really happened; at least 1."""
    lost: int
    """Finished results that were gone afterwards, before anything was run again."""
    duplicated: int
    """Executions of a job whose result was finished and still valid when it started again, and
    executions of one job at the same time as another."""
    corrupt: int
    """Results that were accepted with other bytes than those of an undisturbed run."""
    recovery_seconds: float
    """Longest time from the start of the commands that recover (unlock, same command again) until
    the workflow goes on: its first job starts, or it finds that nothing is left to do."""


Fault = Callable[["Project"], Outcome]
"""Injects a fault into a fresh copy of the project and counts what it cost."""
