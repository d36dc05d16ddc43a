"""What a plan takes, and the time that is left."""

import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import STUDIES
from snakemake_interface_logger_plugins.common import LogEvent

from replication.base.errors import InputError
from replication.plan import progress
from replication.plan.configuration import configure
from replication.plan.costs import Costs, Planned, Records, cost_in_words, read_record, record_name
from replication.plan.jobs import COLLECTING, Jobs
from replication.plan.limits import CORE, GPU
from replication.plan.progress import Brief, Forecast

RECORDS = Records({"logs/a/runs/x/1-5": 10.0, "logs/a/runs/x/6-10": 30.0, "logs/a/data/x": 2.0})
KNOWN = Planned("results/a/runs/x/1-5.npz", 50.0, 30, 1500, is_on_gpu=False)
UNKNOWN = Planned("results/a/metrics/x.parquet", None, 90, 2000, is_on_gpu=False)
ON_GPU = Planned("results/b/runs/y/1.npz", 5400.0, 600, 40_000, is_on_gpu=True)


def test_a_job_is_expected_to_take_what_it_took():
    assert RECORDS.of_job("logs/a/runs/x/6-10") == 30
    assert RECORDS.of_job("logs/a/runs/x/11-15") == 20, "as those beside it"
    assert RECORDS.of_job("logs/a/runs/x/7") == 4, "one seed of five"
    assert RECORDS.of_job("logs/b/runs/x/1") is None


def jobs_of(study: str, changes: dict[str, object]) -> Jobs:
    """The jobs of one study with some changes."""
    return Jobs.of(configure(changes, {study: STUDIES[study]}), {study: STUDIES[study]})


def test_records_count_for_the_default_settings_alone():
    """Other seeds, in jobs of other sizes, are the same settings."""
    name, longer = "scan_and_snap_text", "wikitext_rates"
    changes = {name: {"experiments": {longer: {"training": {"epochs": 5}}}}}
    given = {**changes, "computation": {"seeds_per_job": 1}}
    overlay, default = jobs_of(name, given), jobs_of(name, {})
    records = Records({record_name(path, task): 600.0 for path, task in default.steps.items()})
    own = {path for path, step in default.steps.items() if step.stage not in COLLECTING}
    assert {Costs(default, records).seconds(path) for path in own} == {600.0}
    costs = Costs(overlay, records)
    seconds = {path: costs.seconds(path) for path in overlay.steps}
    for stage in ("runs", "metrics"):
        of_stage = {path: each for path, each in seconds.items() if f"/{stage}/" in path}
        changed = {path for path in of_stage if f"/{longer}/" in path}
        assert changed
        for path, told in of_stage.items():
            foreseen = overlay.steps[path].operations / CORE or None
            assert told == (foreseen if path in changed else 600.0), path
    others = {path for path, task in overlay.steps.items() if task.stage in {"table", "verdict"}}
    assert {seconds[path] for path in others} == {600.0}, "they take seconds under any settings"


def test_operations_tell_the_time_of_a_gpu():
    jobs = jobs_of("scan_and_snap", {"computation": {"device": "cuda"}})
    path = next(path for path, task in jobs.steps.items() if task.device == "cuda")
    records = Records({record_name(path, jobs.steps[path]): 600.0})
    jobs.steps[path] = replace(jobs.steps[path], operations=90 * GPU)
    costs = Costs(jobs, records)
    assert costs.seconds(path) == 90
    jobs.steps[path] = replace(jobs.steps[path], operations=0.0)
    assert costs.seconds(path) is None


def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that will be said."""
    said: list[str] = []
    monkeypatch.setattr(progress.logger, "info", lambda message, extra: said.append(message))
    monkeypatch.setattr(progress.logger, "warning", said.append)
    return said


def test_time_left_is_weighted_by_the_jobs_that_are_left(monkeypatch):
    now = [100.0]
    said = heard(monkeypatch)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    jobs = {job: KNOWN._replace(seconds=2.0 * job) for job in (1, 5, 15)}
    handler = Forecast(lambda: jobs, lambda: "")

    def follow(**event: object) -> None:
        handler.emit(logging.makeLogRecord(event))

    def finish(job: int, seconds: float) -> None:
        now[0] += seconds
        follow(event=LogEvent.JOB_FINISHED, job_id=job)
        follow(event=LogEvent.PROGRESS)

    follow(event=LogEvent.PROGRESS)
    follow(event=LogEvent.RUN_INFO)
    follow(event=LogEvent.PROGRESS)
    assert len(said) == 1, "nothing is known before a job has ended"
    finish(1, 4)
    finish(5, 20)
    finish(15, 60)
    assert said[1:] == ["about 01:20 left", "about 01:00 left"]


def test_a_job_of_unknown_time_counts_as_a_start_of_python(monkeypatch):
    heard(monkeypatch)
    handler = Forecast(lambda: {1: None, 2: UNKNOWN, 3: KNOWN}, lambda: "")
    handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO}))
    assert handler.total == 2 * progress.SECONDS_OF_UNKNOWN + 50


def test_a_plan_is_told_once_and_what_it_replaces(monkeypatch):
    said = heard(monkeypatch)
    for jobs, replaced in (({1: KNOWN, 2: None}, ""), ({}, ""), ({1: KNOWN}, "2 files go")):
        handler = Forecast(lambda jobs=jobs: jobs, lambda replaced=replaced: replaced)
        handler.emit(logging.makeLogRecord({"event": LogEvent.PROGRESS}))
        for _ in range(2):
            handler.emit(logging.makeLogRecord({"event": LogEvent.RUN_INFO}))
    told = "1 job: 50 seconds of one core; the largest job asks for 1,500 MB"
    assert said == [f"{told}: {KNOWN.path}"] * 2 + ["2 files go"]


def test_what_is_not_known_has_the_limit_of_its_time():
    assert cost_in_words([KNOWN, UNKNOWN, UNKNOWN]) == (
        "50 seconds of one core; 2 jobs of unknown time, 3.0 hours at most; the largest job asks"
        " for 2,000 MB"
    )


def test_cores_and_gpus_are_told_apart():
    assert cost_in_words([UNKNOWN, ON_GPU, KNOWN, ON_GPU, KNOWN]) == (
        "100 seconds of one core; 3.0 hours of one GPU, at 7e+12 operations a second; 1 job of"
        " unknown time, 90 minutes at most; the largest job asks for 40,000 MB"
    )
    assert cost_in_words([]) == ""


def test_what_was_recorded_is_readable():
    studies = STUDIES.values()
    records = Records.of(studies)
    # What is over before Snakemake looks at it has no processor time.
    assert all(job.startswith("logs/") and seconds >= 0 for job, seconds in records.seconds.items())
    assert sum(records.seconds.values()) > 0
    parts = [Records.of([study]).seconds.keys() for study in studies]
    assert sum(map(len, parts)) == len(records.seconds)
    assert read_record(Path("nowhere.csv")) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"logs/a,2,\nlogs/a,2,\n",
        b"job,seconds,mib\n<<<<<<< ours\nlogs/a,2,\n",
        b"job,seconds,mib\nlogs/a,two,\n",
        b"job,seconds,mib\nlogs/a,2,many\n",
        b"job,seconds,mib\n\xff,2,\n",
    ],
)
def test_a_damaged_record_is_one_sentence(tmp_path, content):
    path = tmp_path / "seconds.csv"
    path.write_bytes(b"job,seconds,mib\nlogs/b,1,\n")
    assert read_record(path) == {"logs/b": ("1", "")}
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"seconds\.csv: .*; restore it with git"):
        read_record(path)


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
        assert (longest == 1000) == brief.workflow.output_settings.verbose
        brief.has_counted = False
        return [str(each.msg) for each in records if brief.filter(each)]

    counts = "Jobs:\n       3  runs\n       3  evidence\n       1  all\n       7  total"
    assert said(brief(dryrun=True, verbose=False)) == [counts, "This was a dry-run"]
    everything = ["table", "job", "table", "Reasons:\n    (many)", "This was a dry-run"]
    assert said(brief(dryrun=False, verbose=False)) == everything
    assert said(brief(dryrun=True, verbose=True)) == everything


def brief(*, dryrun: bool, verbose: bool) -> Brief:
    """The filter of a run with some of Snakemake's options."""
    shown = SimpleNamespace(printshellcmds=False, verbose=verbose)
    return Brief(SimpleNamespace(dryrun=dryrun, output_settings=shown))
