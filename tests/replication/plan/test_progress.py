"""What a plan takes, and the time that is left."""

import logging
from pathlib import Path

import pytest
from conftest import STUDIES
from snakemake_interface_logger_plugins.common import LogEvent

from replication.base.errors import InputError
from replication.plan import progress
from replication.plan.configuration import configure
from replication.plan.cost import CORE, GPU
from replication.plan.jobs import Jobs, record_name
from replication.plan.progress import (
    Brief,
    Planned,
    ResourcesPlanned,
    TimeLeft,
    planned_resources,
)
from replication.plan.recorded_times import Records

RECORDS = Records({"logs/a/runs/x/1-5": 10.0, "logs/a/runs/x/6-10": 30.0, "logs/a/data/x": 2.0})
KNOWN = Planned("a", "runs/x/1-5", 50.0, 30, 1500, is_on_gpu=False)
UNKNOWN = Planned("a", "metrics/x", None, 90, 2000, is_on_gpu=False)
ON_GPU = Planned("b", "runs/y/1", 5400.0, 600, 40_000, is_on_gpu=True)


def test_a_job_is_expected_to_take_what_it_took():
    assert RECORDS.told("logs/a/runs/x/6-10") == 30
    assert RECORDS.told("logs/a/runs/x/11-15") == 20, "as those beside it"
    assert RECORDS.told("logs/a/runs/x/7") == 4, "one seed of five"
    assert RECORDS.told("logs/b/runs/x/1") is None


def jobs_of(study: str, changes: dict[str, object]) -> Jobs:
    """The jobs of one study with some changes."""
    return Jobs.of(configure(changes, {study: STUDIES[study]}), {study: STUDIES[study]})


def test_records_count_for_the_default_settings_alone():
    """Other seeds, in jobs of other sizes, are the same settings."""
    name, longer = "scan_and_snap_text", "wikitext_rates"
    changes = {name: {"experiments": {longer: {"training": {"epochs": 5}}}}}
    given = {**changes, "computation": {"seeds_per_job": 1}}
    overlay, default = jobs_of(name, given), jobs_of(name, {})
    records = Records({record_name(path, task): 600.0 for path, task in default.tasks.items()})
    assert {default.seconds(path, records) for path in default.tasks} == {600.0}
    seconds = {path: overlay.seconds(path, records) for path in overlay.tasks}
    for stage in ("runs", "metrics"):
        of_stage = {path: each for path, each in seconds.items() if f"/{stage}/" in path}
        changed = {path for path in of_stage if f"/{longer}/" in path}
        assert changed
        for path, told in of_stage.items():
            foreseen = overlay.tasks[path].operations / CORE or None
            assert told == (foreseen if path in changed else 600.0), path
    others = {path for path, task in overlay.tasks.items() if task.stage in {"table", "verdict"}}
    assert {seconds[path] for path in others} == {600.0}, "they take seconds under any settings"


def test_operations_tell_the_time_of_a_gpu():
    jobs = jobs_of("scan_and_snap", {"computation": {"device": "cuda"}})
    path = next(path for path, task in jobs.tasks.items() if task.device == "cuda")
    records = Records({record_name(path, jobs.tasks[path]): 600.0})
    jobs.tasks[path] = jobs.tasks[path]._replace(operations=90 * GPU)
    assert jobs.seconds(path, records) == 90
    jobs.tasks[path] = jobs.tasks[path]._replace(operations=0.0)
    assert jobs.seconds(path, records) is None


def test_time_left_is_weighted_by_the_jobs_that_are_left(monkeypatch):
    now = [100.0]
    said: list[str] = []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.logger, "info", lambda message, extra: said.append(message))
    handler = TimeLeft({1: 2.0, 2: 10.0, 3: 30.0})
    assert TimeLeft({4: None}).total == progress.SECONDS_OF_UNKNOWN

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


def test_a_plan_is_told_once_and_what_it_replaces(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(progress.logger, "info", lambda message, extra: said.append(message))
    monkeypatch.setattr(progress.logger, "warning", said.append)
    for jobs, replaced in (([KNOWN], ""), ([], ""), ([KNOWN], "2 files go")):
        handler = ResourcesPlanned(lambda jobs=jobs: jobs, lambda replaced=replaced: replaced)
        handler.emit(logging.makeLogRecord({"event": LogEvent.PROGRESS}))
        for _ in range(2):
            handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO}))
    told = "jobs: 1; one processor: 50 seconds; most memory of a job: 1,500 MB, runs/x/1-5"
    assert said == [told, told, "2 files go"]


def test_what_is_not_known_has_the_limit_of_its_time():
    assert planned_resources([KNOWN, UNKNOWN, UNKNOWN]) == (
        "jobs: 3; one processor: 50 seconds; time not known: 2 jobs, 3.0 hours at most;"
        " most memory of a job: 2,000 MB, metrics/x"
    )


def test_several_studies_have_a_row_each_and_a_sum():
    told = planned_resources([UNKNOWN, ON_GPU, KNOWN, ON_GPU, KNOWN._replace(study="")])
    *table, rate = told.splitlines()
    cells = [[each for each in line.split("  ") if each.strip()] for line in table]
    assert [list(map(str.strip, row)) for row in cells] == [
        ["study", "jobs", "one GPU", "one processor", "time not known", "most memory of a job"],
        ["a", "2", "50 seconds", "1 job, 90 minutes at most", "2,000 MB, metrics/x"],
        ["b", "2", "3.0 hours", "40,000 MB, runs/y/1"],
        ["others", "1", "50 seconds", "1,500 MB, runs/x/1-5"],
        [
            "all",
            "5",
            "3.0 hours",
            "100 seconds",
            "1 job, 90 minutes at most",
            "40,000 MB, runs/y/1",
        ],
    ]
    assert rate == "A GPU counts as 7e+12 operations a second."


def test_what_was_recorded_is_readable():
    studies = STUDIES.values()
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
