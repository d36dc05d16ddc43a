"""Record time and memory of jobs, for estimates of the time left: `python -m benchmarks.jobs`.

After `snakemake everything`, or the target of a study, in a fresh folder; writes
`config/seconds.csv`, in which jobs that were not run there stay as they are.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from replication.base.tables import write_csv
from replication.plan.recorded_times import (
    RECORD,
    SUFFIX,
    job,
    measured,
    read_memory,
    read_recorded,
)

COLUMNS = ["job", "seconds", "mib"]


def main() -> None:
    """Write the table."""
    kept = pd.DataFrame(_recorded_rows(), columns=COLUMNS)
    here = pd.DataFrame(_measured_rows(), columns=COLUMNS)
    rows = pd.concat([kept[~kept.job.isin(here.job)], here]).sort_values("job")
    write_csv(RECORD, rows.round({"seconds": 1, "mib": 0}).astype({"mib": "Int64"}))


def _recorded_rows() -> Iterator[tuple[str, float, float | None]]:
    memory = read_memory(RECORD)
    for name, seconds in read_recorded(RECORD).items():
        yield name, seconds, memory.get(name)


def _measured_rows() -> Iterator[tuple[str, float, float]]:
    for path in Path("logs").rglob(f"*{SUFFIX}"):
        most = pd.read_csv(path, sep="\t")["max_rss"].max()
        yield job(path), measured(path), most


if __name__ == "__main__":
    main()
