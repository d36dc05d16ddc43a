"""Keep what jobs took, for estimates of the time left: `python -m benchmarks.jobs`.

After `snakemake everything`, or the target of a study, in a fresh folder; writes
`config/seconds.csv`, in which jobs that were not run there stay as they are.
"""

from pathlib import Path

import pandas as pd

from replication.frames import write_csv
from replication.seconds import SUFFIX, job, measured, read_recorded

RECORD = Path("config/seconds.csv")


def main() -> None:
    """Write the table."""
    seconds = {job(path): measured(path) for path in Path("logs").rglob(f"*{SUFFIX}")}
    rows = sorted((job, round(each, 1)) for job, each in (read_recorded(RECORD) | seconds).items())
    write_csv(RECORD, pd.DataFrame(rows, columns=["job", "seconds"]))


if __name__ == "__main__":
    main()
