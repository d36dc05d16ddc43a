"""Time left, from what jobs took."""

import logging
from pathlib import Path

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from replication.base.errors import InputError
from replication.plan import progress
from replication.plan.cost import CORE, GPU
from replication.plan.progress import Brief, Planned, TimeLeft, TimePlanned, planned_time
from replication.plan.recorded_times import SECONDS_OF_UNKNOWN, Records, expected_seconds
from replication.study.studies import find_studies

RECORDS = Records({"logs/a/runs/x/1-5": 10.0, "logs/a/runs/x/6-10": 30.0, "logs/a/data/x": 2.0})


def test_a_job_is_expected_to_take_what_it_took(tmp_path):
    here = tmp_path / "here.benchmark.tsv"
    here.write_text("s\tcpu_time\n50\t7.5\n60\t8.5\n")
    assert expected_seconds(str(here), RECORDS) == 8
    here.write_text("s\th:m:s\n50\t0:00:50\n")
    assert expected_seconds(str(here), RECORDS) == SECONDS_OF_UNKNOWN
    assert expected_seconds("logs/a/runs/x/6-10.benchmark.tsv", RECORDS) == 30
    assert expected_seconds("logs/a/runs/x/11-15.benchmark.tsv", RECORDS) == 20, (
        "as those beside it"
    )
    assert expected_seconds("logs/a/runs/x/7.benchmark.tsv", RECORDS) == 4, "one seed of five"
    assert expected_seconds("logs/b/runs/x/1.benchmark.tsv", RECORDS) == SECONDS_OF_UNKNOWN
    assert expected_seconds("", RECORDS) == SECONDS_OF_UNKNOWN, "a job that measures nothing"


def test_time_left_is_weighted_by_the_jobs_that_are_left(monkeypatch):
    now = [100.0]
    said: list[str] = []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.logger, "info", lambda message, extra: said.append(message))
    jobs = [(1, "logs/a/data/x"), (2, "logs/a/runs/x/1-5"), (3, "logs/a/runs/x/6-10")]
    handler = TimeLeft([(job, f"{path}.benchmark.tsv") for job, path in jobs], RECORDS)

    def finish(job: int, seconds: float) -> None:
        now[0] += seconds
        for event in (
            {"event": LogEvent.JOB_FINISHED, "job_id": job},
            {"event": LogEvent.PROGRESS},
        ):
            handler.emit(logging.makeLogRecord(event))

    handler.emit(logging.makeLogRecord({"event": LogEvent.PROGRESS}))
    assert said == [], "nothing is known before a job has ended"
    finish(1, 4)
    finish(2, 20)
    finish(3, 60)
    assert said == ["about 01:20 left", "about 01:00 left"]


def test_a_plan_tells_its_time_and_what_nobody_has_measured(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(progress.logger, "info", lambda message, extra: said.append(message))
    monkeypatch.setattr(progress.logger, "warning", said.append)
    paths = ["logs/a/runs/x/1-5", "logs/a/runs/x/11-15", "logs/b/runs/x/1"]
    jobs = [Planned(f"{path}.benchmark.tsv", 0, is_on_gpu=False) for path in paths]
    jobs.append(Planned("", 0, is_on_gpu=False))
    handler = TimePlanned(lambda: jobs, lambda: RECORDS, str, str)
    handler.emit(logging.makeLogRecord({"event": LogEvent.PROGRESS}))
    assert said == []
    for _ in range(2):
        handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO}))
    jobs.pop(2)
    handler = TimePlanned(
        lambda: jobs, lambda: RECORDS, lambda: "; of others", lambda: "2 files go"
    )
    handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO}))
    assert said == [
        "about 00:30 of one processor; jobs that are not recorded: 1",
        "about 00:30 of one processor; of others",
        "2 files go",
    ]


def test_operations_tell_the_time_of_a_gpu_and_of_what_is_not_recorded():
    known = Planned("logs/a/runs/x/1-5.benchmark.tsv", 100 * CORE, is_on_gpu=False)
    new = Planned("logs/b/runs/x/1.benchmark.tsv", 40 * CORE, is_on_gpu=False)
    assert planned_time([known, new], RECORDS) == "about 00:50 of one processor"
    on_gpu = known._replace(operations=5400 * GPU, is_on_gpu=True)
    assert planned_time([new, on_gpu], RECORDS) == (
        "about 00:40 of one processor and 1.5 hours of one GPU at 7e+12 operations a second"
    )


def test_what_was_recorded_is_readable():
    studies = find_studies().values()
    records = Records.of(studies)
    # What is over before Snakemake looks at it has no processor time.
    assert all(job.startswith("logs/") and seconds >= 0 for job, seconds in records.seconds.items())
    assert sum(records.seconds.values()) > 0
    assert records.mib.keys() <= records.seconds.keys()
    parts = [Records.of([study]).seconds.keys() for study in studies]
    assert sum(map(len, parts)) == len(records.seconds)
    assert Records.read(Path("nowhere.csv")) == Records()


@pytest.mark.parametrize(
    "content",
    [
        b"logs/a,2,\n",
        b"job,seconds,mib\nlogs/a,-2,\n",
        b"job,seconds,mib\nlogs/a,nan,\n",
        b"job,seconds,mib\nlogs/a,1e400,\n",
        b"job,seconds,mib\nlogs/a,two,\n",
        b"job,seconds,mib\nlogs/a,2,-1\n",
        b"job,seconds,mib\nlogs/a\n",
        b"job,seconds,mib\nlogs/a,2,,3\n",
        b"job,seconds,mib\n\xff,2,\n",
    ],
)
def test_a_damaged_record_is_one_sentence(tmp_path, content):
    path = tmp_path / "seconds.csv"
    path.write_bytes(b"job,seconds,mib\nlogs/b,1,\n")
    assert Records.read(path) == Records({"logs/b": 1.0})
    path.write_bytes(content)
    if content.count(b"\n") == 1:
        path.write_bytes(content * 2)
    with pytest.raises(InputError, match=r"seconds\.csv: .*; restore it with git"):
        Records.read(path)


def test_a_dry_run_counts_jobs_once_by_stage_and_lists_none():
    stats = {"runs": 3, "evidence_a_norms": 1, "evidence_a_heads": 2, "all": 1, "total": 7}

    def said(brief: Brief) -> list[str]:
        events = [
            {"event": LogEvent.RUN_INFO, "stats": stats, "msg": "table"},
            {"event": LogEvent.JOB_INFO, "msg": "job", "reason": "x" * 1000},
            {"event": LogEvent.RUN_INFO, "stats": stats, "msg": "table"},
            {"msg": "Reasons:\n    (many)"},
            {"msg": "This was a dry-run"},
        ]
        records = [logging.makeLogRecord(event) for event in events]
        longest = max(len(getattr(each, "reason", "")) for each in records if brief.filter(each))
        assert (longest == 1000) == brief.is_whole()
        brief.has_counted = False
        return [str(each.msg) for each in records if brief.filter(each)]

    counts = "Jobs:\n       3  runs\n       3  evidence\n       1  all\n       7  total"
    assert said(Brief(lambda: True, lambda: False)) == [counts, "This was a dry-run"]
    everything = ["table", "job", "table", "Reasons:\n    (many)", "This was a dry-run"]
    assert said(Brief(lambda: False, lambda: False)) == everything
    assert said(Brief(lambda: True, lambda: True)) == everything
