"""Record time and memory of jobs, for estimates of the time left: `python -m benchmarks.jobs`.

After `snakemake everything`, or the target of a study, in a fresh folder; writes `seconds.csv` in
the folder of each study, in which jobs that were not run there stay as they are.
"""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from replication.base.tables import write_csv
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.recorded_times import RECORD, SUFFIX, Records, job_name, measured_seconds
from replication.study.studies import find_studies

COLUMNS = ["job", "seconds", "mib"]


def main() -> None:
    """Write the tables."""
    studies = find_studies()
    jobs = Jobs.of(configure({}, studies), studies)
    measured = pd.DataFrame(_measured_rows(), columns=COLUMNS)
    for name, here in measured.groupby(measured["job"].map(lambda job: study_of(job, jobs))):
        path = studies[name].folder / RECORD
        records = Records.read(path)
        kept = pd.DataFrame({"seconds": records.seconds, "mib": records.mib})
        kept = kept.rename_axis("job").reset_index()
        rows = pd.concat([kept[~kept.job.isin(here.job)], here]).sort_values("job")
        write_csv(path, rows.round({"seconds": 1, "mib": 0}).astype({"mib": "Int64"}))


def _measured_rows() -> Iterator[tuple[str, float, float]]:
    for path in Path("logs").rglob(f"*{SUFFIX}"):
        most = pd.read_csv(path, sep="\t")["max_rss"].max()
        yield job_name(path), measured_seconds(path), most


def study_of(job: str, jobs: Jobs) -> str | None:
    """Return the study of a job, by the job's name; none if no study has it now."""
    _, place, part = job.split("/", 2)
    if place == "figures":
        figure = jobs.figures.get(part.rpartition(".")[0])
        return figure[0].study.name if figure else None
    if place == "report":
        return jobs.pages.get(part)
    return place if place in jobs.studies else None


if __name__ == "__main__":
    main()
