"""The counters of faults come out right, and can come out as something else than zero."""

from types import SimpleNamespace

import pandas as pd
import pytest
from conftest import FIGURE

from faults.evidence import Event, Ledger, Run, Undisturbed, digests, run_undisturbed
from faults.outcome import Outcome
from faults.registry import with_rows

JOBS = {"a.log": ["results/a"], "b.log": ["results/b", "figures/b"]}


@pytest.fixture
def ledger(tmp_path):
    """Of a folder in which both jobs have left their results."""
    for paths in JOBS.values():
        for path in paths:
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(path)
    return Ledger(tmp_path, Undisturbed(tmp_path, digests(tmp_path), JOBS, seconds=1))


def run(*events):
    """A run that says: `+a` a.log has started, `-a` it has finished; one event per second."""
    kinds = {"+": "started", "-": "finished"}
    return SimpleNamespace(
        events=[
            Event(seconds, kinds[event[0]], f"{event[1]}.log")
            for seconds, event in enumerate(events)
            if event
        ]
    )


def counted(ledger):
    return ledger.lost, ledger.duplicated, ledger.corrupt, ledger.repeated


def test_an_undisturbed_run_costs_nothing(ledger):
    ledger.enter(run("+a", "-a", "+b", "-b"))
    ledger.complete()
    assert counted(ledger) == (0, 0, 0, 0)


def test_a_finished_result_that_is_gone_is_lost_once(ledger):
    ledger.enter(run("+a", "-a", "+b", "-b"))
    (ledger.folder / "results/b").unlink()
    ledger.look()
    ledger.look()
    assert counted(ledger) == (1, 0, 0, 0)
    ledger.enter(run("+b"))
    assert ledger.duplicated == 0


def test_an_unfinished_result_that_is_gone_is_not_lost(ledger):
    ledger.enter(run("+a", "-a", "+b"))
    (ledger.folder / "results/b").unlink()
    ledger.look()
    assert counted(ledger) == (0, 0, 0, 0)
    ledger.complete()
    assert ledger.lost == 1


def test_wrong_bytes_are_corrupt_once_they_are_accepted(ledger):
    (ledger.folder / "results/a").write_text("half")
    ledger.enter(run("+a"))
    assert ledger.corrupt == 0
    ledger.enter(run("+a", "-a"))
    assert counted(ledger) == (0, 0, 1, 0)


def test_superfluous_files_are_corrupt_but_hidden_ones_are_not(ledger):
    (ledger.folder / "results/.a.k3_x9abc").write_text("left behind")
    ledger.complete()
    assert ledger.corrupt == 0
    (ledger.folder / "results/c").write_text("left behind")
    ledger.complete()
    assert ledger.corrupt == 1


def test_a_finished_job_that_runs_again_is_duplicated(ledger):
    ledger.enter(run("+a", "-a"))
    ledger.enter(run("+a", "-a"))
    assert counted(ledger) == (0, 1, 0, 0)


def test_a_job_in_two_runs_at_once_is_duplicated(ledger):
    ledger.enter(run("+a", "", "-a"), run("", "+a", "", "-a"))
    assert ledger.duplicated == 1


def test_a_whole_result_whose_job_was_stopped_is_repeated(ledger):
    ledger.enter(run("+a"))
    ledger.enter(run("+a", "-a"))
    assert counted(ledger) == (0, 0, 0, 1)


@pytest.mark.campaign
def test_snakemake_is_understood(finished_project):
    """A real job that is forced to run again is seen and counted."""
    expected = run_undisturbed(finished_project, quick=False, figure=FIGURE)
    assert len(expected.outputs) == 5
    ledger = Ledger(finished_project.folder, expected)
    ledger.finished = set(expected.outputs)
    forced = Run(finished_project, FIGURE, "--forcerun", "figure", quick=False).succeed()
    assert [event[1:] for event in forced.events] == [
        ("started", f"logs/{FIGURE}.log"),
        ("finished", f"logs/{FIGURE}.log"),
    ]
    ledger.enter(forced)
    assert counted(ledger) == (0, 1, 0, 0)


def test_a_fault_that_did_not_happen_is_no_outcome(ledger):
    with pytest.raises(AssertionError, match="did not happen"):
        ledger.outcome("nothing", "nowhere", 0, [1.0])


def test_rows_of_the_table_are_replaced_or_added():
    first = Outcome("SIGKILL", "here", 5, 0, 1, 2, 3.21)
    empty = pd.DataFrame(columns=Outcome._fields)
    table = with_rows(empty, [first, first._replace(fault="SIGINT")])
    assert next(iter(table.itertuples(index=False, name=None))) == tuple(first)
    table = with_rows(table, [first._replace(lost=7)])
    assert table.fault.tolist() == ["SIGKILL", "SIGINT"]
    assert table.lost.tolist() == [7, 0]
