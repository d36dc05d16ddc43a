"""The command for somebody who writes a study: `quick`."""

import os
from concurrent.futures import Future
from functools import cache

import pytest
from click.testing import CliRunner
from conftest import FIGURES

from replication.base.errors import InputError
from replication.testing import small


class Here:
    """A process that is none: jobs run in that of the test, or fail."""

    def __init__(self, failure=None):
        self.failure, self.jobs = failure, []

    def submit(self, function, *given):
        self.jobs.append(given)
        job = Future()
        if self.failure:
            job.set_exception(self.failure)
        else:
            job.set_result(function(*given))
        return job


def test_quick_makes_figures_and_verdicts_in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(small, "process", lambda number: Here())
    done = CliRunner().invoke(small.main, ["example"])
    assert done.exit_code == 0, done.output
    assert done.output == "example: quick/figures/example, quick/results/example/verdicts.md\n"
    assert [path.name for path in tmp_path.iterdir()] == ["quick"]
    assert "| C2 |" in (tmp_path / "quick/results/example/verdicts.md").read_text()
    for figure in FIGURES:
        assert (tmp_path / "quick" / figure).is_file()


def test_one_process_makes_all_files(tmp_path, monkeypatch):
    """Python, PyTorch and pandas take seconds to start, a job at the smallest scale none."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    process, other = small.process(1), small.process(2)
    assert small.process(1) is process
    found = [
        each.submit(os.getenv, name).result()
        for each in (process, other)
        for name in ("OMP_NUM_THREADS", "PYTHONHASHSEED")
    ]
    assert found == ["1", "random"] * 2
    first, again, second = (each.submit(os.getpid).result() for each in (process, process, other))
    assert first == again != second
    assert os.environ["OMP_NUM_THREADS"] == "7"
    small.process.cache_clear()


@pytest.mark.parametrize(
    ("failure", "message"),
    [(InputError("no such luck"), "no such luck")],
)
def test_quick_tells_why_a_job_fails(tmp_path, monkeypatch, failure, message):
    monkeypatch.chdir(tmp_path)
    failing = Here(failure)
    monkeypatch.setattr(small, "process", cache(lambda number: failing))
    done = CliRunner().invoke(small.main, ["example"])
    assert (done.exit_code, len(failing.jobs)) == (1, 1)
    assert done.output.startswith("Error: results/example/")
    assert done.output.endswith(f": {message}\n")


def test_a_file_in_the_way_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").touch()
    assert "quick: File exists; make room" in CliRunner().invoke(small.main).output


def test_an_unknown_study_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean 'example'?" in CliRunner().invoke(small.main, ["exmple"]).output
    assert not [*tmp_path.iterdir()]
