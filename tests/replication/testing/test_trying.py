"""The command for somebody who writes a study: `quick`."""

import subprocess
from contextlib import chdir

import pytest
from click.testing import CliRunner
from conftest import FIGURES

from replication.run import program
from replication.testing import quick


@pytest.fixture
def made(monkeypatch):
    """Commands of the jobs of `quick`, which are run in the process of the test."""
    commands = []

    def make(self, folder, jobs):
        commands.extend(jobs)
        with chdir(folder):
            for words in jobs:
                program.main.main(words, standalone_mode=False)

    monkeypatch.setattr(quick.Process, "make", make)
    return commands


def test_quick_makes_figures_and_verdicts_in_a_folder_of_its_own(tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(quick.main, ["example"])
    assert done.exit_code == 0, done.output
    assert done.output == "example: quick/figures/example, quick/results/example/verdicts.md\n"
    assert [path.name for path in tmp_path.iterdir()] == ["quick"]
    assert "| C2 |" in (tmp_path / "quick/results/example/verdicts.md").read_text()
    for figure in FIGURES:
        assert (tmp_path / "quick" / figure).is_file()


NOTHING = "import sys\nfor _ in sys.stdin: print(DONE, flush=True)"
"""Program of a process that makes no file."""


def test_quick_starts_one_process_for_all_jobs(tmp_path, monkeypatch):
    """Python, PyTorch and pandas take seconds to start, a job at the smallest scale none."""
    monkeypatch.chdir(tmp_path)
    started, start = [], subprocess.Popen

    def popen(*words, **options):
        started.append(words)
        return start(*words, **options)

    monkeypatch.setattr("replication.testing.small.PROGRAM", NOTHING)
    monkeypatch.setattr("replication.testing.small.subprocess.Popen", popen)
    done = CliRunner().invoke(quick.main, ["example"])
    assert "C1.json: there is no such file" in done.output
    assert len(started) == 1


def test_quick_tells_why_a_job_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replication.testing.small.PROGRAM", "import sys; sys.exit('no such luck')")
    done = CliRunner().invoke(quick.main, ["example"])
    assert (done.exit_code, done.output) == (1, "Error: no such luck\n")


def test_a_file_in_the_way_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").touch()
    assert (
        "quick: no folder can be made here (File exists); move"
        in CliRunner().invoke(quick.main).output
    )


def test_an_unknown_study_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean 'example'?" in CliRunner().invoke(quick.main, ["exmple"]).output
    assert not [*tmp_path.iterdir()]
