"""Commands for somebody who writes a study: `quick` and `watch`."""

import os
import subprocess
import sys
from contextlib import chdir

import pytest
from click.testing import CliRunner
from conftest import EXAMPLE, FIGURES, ROOT

from replication.run import program
from replication.testing import quick, watch


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


class Watched:
    """Snakemake and the clock, as `watch` sees them: a file changes at some looks."""

    def __init__(self, codes, changes):
        self.codes, self.changes, self.commands = iter(codes), iter(changes), []

    def call(self, command):
        self.commands.append(command)
        return next(self.codes)

    def sleep(self, _):
        path = next(self.changes, KeyboardInterrupt)
        if path is KeyboardInterrupt:
            raise path
        if path:
            os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """The only file of a study."""
    monkeypatch.setattr(watch, "SOURCE", tmp_path)
    (tmp_path / "settings.py").touch()
    return tmp_path / "settings.py"


def start(monkeypatch, codes, changes):
    watched = Watched(codes, changes)
    monkeypatch.setattr(watch.subprocess, "call", watched.call)
    monkeypatch.setattr(watch.time, "sleep", watched.sleep)
    return watched, CliRunner().invoke(watch.main, ["figures/fig1.pdf"])


def test_a_figure_is_made_again_when_a_file_changes_even_after_an_error(monkeypatch, settings):
    watched, done = start(monkeypatch, [0, 1, 0], [None, settings, None, settings])
    assert done.exit_code == 0, done.output
    assert len(watched.commands) == 3
    assert watched.commands[0][:4] == [watch.sys.executable, "-m", "snakemake", "figures/fig1.pdf"]
    assert done.output.count("Made again") == 1


def test_a_target_that_cannot_be_made_ends_it(monkeypatch, settings):
    watched, done = start(monkeypatch, [1], [])
    assert (done.exit_code, len(watched.commands)) == (1, 1)


def test_why_a_target_cannot_be_made_is_shown(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "replication", "watch", "nothing"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "nothing" in done.stderr


def test_the_files_of_all_studies_are_looked_at():
    found = watch._times(())
    assert {ROOT / EXAMPLE / name for name in ("config.yaml", "figures/fig1.py")} <= found.keys()
