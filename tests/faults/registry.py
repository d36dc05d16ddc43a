"""All faults, and the table of what they cost."""

import importlib.util

from faults import disks, signals, times, users
from faults.outcome import Fault, Outcome
from replication.base.markdown import table

BEGIN, END = "<!-- outcomes: generated -->", "<!-- end of outcomes -->"
HEADER = ("fault", "where", "injected", "lost", "duplicated", "corrupt", "recovery time")
LOCAL: tuple[Fault, ...] = (
    signals.killed,
    signals.interrupted,
    signals.terminated,
    disks.disk_full,
    disks.everything_full,
    disks.read_only,
    users.two_users,
    users.three_users,
    users.same_instant,
    users.two_clones,
    times.coarse_stamps,
    times.clock_set_back,
)


def all_faults() -> dict[str, Fault]:
    """Every fault by the name of its function; those of a cluster where there is one."""
    faults = list(LOCAL)
    if importlib.util.find_spec("cluster") and importlib.util.find_spec("cluster.faults"):
        faults += importlib.import_module("cluster.faults").FAULTS
    return {fault.__name__: fault for fault in faults}


def with_rows(page: str, outcomes: list[Outcome]) -> str:
    """The page with the rows of some faults replaced, or added at the end of its table."""
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    rows = old.strip().splitlines()[2:]
    rows += table(HEADER, [_cells(outcome) for outcome in outcomes])[2:]
    latest = {row.split(" | ")[0]: row for row in rows}
    return "\n".join([before + BEGIN, *table(HEADER, []), *latest.values(), END + after])


def _cells(outcome: Outcome) -> list[str]:
    return [*map(str, outcome[:-1]), f"{outcome.recovery_seconds:.1f} s"]
