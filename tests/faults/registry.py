"""All faults, and the table of what they cost."""

import importlib.util

import pandas as pd

from faults import disks, signals, times, users
from faults.outcome import Fault, Outcome

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


def with_rows(known: pd.DataFrame, outcomes: list[Outcome]) -> pd.DataFrame:
    """The table with the rows of some faults replaced, or added at its end."""
    rows = pd.concat([known, pd.DataFrame(outcomes, columns=Outcome._fields)])
    # A replaced row keeps its place.
    order = list(dict.fromkeys(rows.fault))
    return rows.drop_duplicates("fault", keep="last").set_index("fault").loc[order].reset_index()
