"""Keep what jobs took, for estimates of the time left: `python -m benchmarks.jobs`.

After `snakemake everything` in a fresh folder; writes `config/seconds.csv`.
"""

from pathlib import Path

import pandas as pd

from replication.frames import write_csv
from replication.seconds import SUFFIX, job, measured


def main() -> None:
    """Write the table."""
    seconds = {job(path): measured(path) for path in Path("logs").rglob(f"*{SUFFIX}")}
    rows = sorted((job, round(each, 1)) for job, each in seconds.items())
    write_csv(Path("config/seconds.csv"), pd.DataFrame(rows, columns=["job", "seconds"]))


if __name__ == "__main__":
    main()
