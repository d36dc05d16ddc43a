"""Record time and memory of jobs, for estimates of the time left: `python -m benchmarks.jobs`.

After `snakemake everything`, or the target of a study, in a fresh folder; writes
`config/seconds.csv`, in which jobs that were not run there stay as they are.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from replication.base.tables import write_csv
from replication.plan.recorded_times import RECORD, SUFFIX, Records, job_name, measured_seconds

COLUMNS = ["job", "seconds", "mib"]


def main() -> None:
    """Write the table."""
    records = Records.read(RECORD)
    kept = pd.DataFrame({"seconds": records.seconds, "mib": records.mib})
    kept = kept.rename_axis("job").reset_index()
    here = pd.DataFrame(_measured_rows(), columns=COLUMNS)
    rows = pd.concat([kept[~kept.job.isin(here.job)], here]).sort_values("job")
    write_csv(RECORD, rows.round({"seconds": 1, "mib": 0}).astype({"mib": "Int64"}))


def _measured_rows() -> Iterator[tuple[str, float, float]]:
    for path in Path("logs").rglob(f"*{SUFFIX}"):
        most = pd.read_csv(path, sep="\t")["max_rss"].max()
        yield job_name(path), measured_seconds(path), most


if __name__ == "__main__":
    main()
