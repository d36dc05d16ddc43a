"""Times of jobs that ran here join the record of their study, and nothing else changes."""

import pytest
from click.testing import CliRunner
from conftest import JOBS

from replication.documents import generate
from replication.plan import costs
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies

STUDIES = find_studies()

HEAD = "s\th:m:s\tmax_rss\tcpu_time\n"
JOB = "logs/example/runs/printed/1-5"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A table of records elsewhere than in the study's folder; the working folder has no job."""
    path = tmp_path / "seconds.csv"
    path.write_text("job,seconds,mib\nlogs/example/data/kept,3.0,\n")
    monkeypatch.setattr(costs, "RECORD", str(path))
    monkeypatch.chdir(tmp_path)
    return path


def _timed(folder, job, row):
    path = folder / f"{job}.benchmark.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + row + "\n")


def test_a_run_joins_the_record_of_its_study(record):
    _timed(record.parent, JOB, "9\t0:00:09\t120.4\t4.26")
    _timed(record.parent, "logs/nobody/report/page", "9\t0:00:09\t1\t1")
    assert costs.record_times(JOBS.studies["lp_ft"]) == 0
    assert costs.record_times(JOBS.studies["example"]) == 1
    assert record.read_text() == (f"job,seconds,mib\nlogs/example/data/kept,3.0,\n{JOB},4.3,120\n")
    assert costs.read_record(record)[JOB] == ("4.3", "120")


def test_memory_that_snakemake_does_not_know_is_left_out(record):
    _timed(record.parent, JOB, "9\t0:00:09\t-\t4.26")
    assert costs.record_times(JOBS.studies["example"]) == 1
    assert record.read_text().endswith(f"{JOB},4.3,\n")


def test_a_folder_without_jobs_changes_nothing(record):
    before = record.read_text()
    made = CliRunner().invoke(generate.main, ["--times"])
    assert (made.exit_code, record.read_text()) == (1, before)
    assert "no job of a study was timed here; run `snakemake` first" in made.output


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_no_job_took_more_memory_than_it_asks_for(study):
    jobs = Jobs.of(configure({}, {study.name: study}), {study.name: study})
    records = costs.read_record(study.folder / costs.RECORD)
    rows = {path: records.get(costs.record_name(path, task)) for path, task in jobs.steps.items()}
    taken = {path: float(row[1]) for path, row in rows.items() if row and row[1]}
    small = {
        path: (round(mib * 2**20 / 1e6), jobs.steps[path].memory)
        for path, mib in taken.items()
        if mib * 2**20 > jobs.steps[path].memory * 1e6
    }
    assert small == {}
