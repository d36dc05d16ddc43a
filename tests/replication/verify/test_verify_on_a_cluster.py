"""A verification computes where a Snakemake profile says."""

import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import FIGURE, JOBS, ROOT, Project

from replication.bundle.bundle import Bundle
from replication.verify import command as verify

STUDY = Path(FIGURE).parent.name
PROFILE = ROOT / "profiles/cluster-generic"
"""The one whose commands name a file of the project's."""
SNAKEMAKE = """\
#!/bin/sh
printf '%s\\n' "$@" > {folder}/words
ls -R results > {folder}/seen
while [ "$1" != --directory ]; do shift; done
cat "$2/profiles/cluster-generic/status" > {folder}/status
exit 0
"""
"""Stands in for Python."""


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    """What Snakemake is started with, and what it sees."""
    folder = tmp_path / "snakemake"
    folder.mkdir()
    program = folder / "python"
    program.write_text(SNAKEMAKE.format(folder=folder))
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return folder


def compute(monkeypatch: pytest.MonkeyPatch, profile: Path | None) -> None:
    """Compute everything of the study by a profile."""
    monkeypatch.setattr(verify, "read_computed", lambda *_: (Bundle({}, {}, {}), {}))
    monkeypatch.setattr(verify, "dependencies", lambda *_: {})
    verify._results(JOBS, STUDY, "full", 0, profile, ROOT)


def options(folder: Path) -> dict[str, str]:
    words = (folder / "words").read_text().split("\n")
    return dict(pairwise(words))


def test_a_profile_computes_where_every_machine_sees(tmp_path, monkeypatch, snakemake):
    """Folder and configuration are below the working folder, and both are gone in the end."""
    working = tmp_path / "working"
    working.mkdir()
    monkeypatch.chdir(working)
    compute(monkeypatch, PROFILE)
    folder = Path(options(snakemake)["--directory"])
    assert options(snakemake)["--workflow-profile"] == str(PROFILE)
    assert folder.parent == working / "results"
    assert folder.name in (snakemake / "seen").read_text()
    file = Path(options(snakemake)["--configfile"])
    assert file.parent == folder
    assert (snakemake / "status").read_text().startswith("#!/bin/sh"), "a profile's own program"
    assert list((working / "results").iterdir()) == []
    assert (ROOT / "profiles/cluster-generic/status").is_file()


def test_without_a_profile_nothing_changes(tmp_path, monkeypatch, snakemake):
    monkeypatch.chdir(tmp_path)
    compute(monkeypatch, None)
    assert tmp_path not in Path(options(snakemake)["--directory"]).parents
    assert "--workflow-profile" not in options(snakemake)
    assert not (tmp_path / "results").exists()


class Child:
    """A Snakemake whose waiting parent gets some interrupts."""

    def __init__(self, interrupts: int) -> None:
        self.left, self.seen = interrupts, []

    def wait(self) -> int:
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt
        self.seen.append("ended")
        return 3

    def terminate(self) -> None:
        self.seen.append("terminated")


def test_snakemake_is_waited_for():
    assert verify._wait_for_snakemake(Child(0)) == 3


@pytest.mark.parametrize(("interrupts", "seen"), [(1, ["ended"]), (2, ["terminated"])])
def test_ctrl_c_lets_snakemake_cancel_its_jobs_and_a_second_one_ends_it(interrupts, seen):
    """It is sent to both; Snakemake ends when no job is left in the queue."""
    child = Child(interrupts)
    with pytest.raises(KeyboardInterrupt):
        verify._wait_for_snakemake(child)
    assert child.seen == seen


@pytest.mark.parametrize("level", [["--level", "hash"], ["--level", "full", "--write"]])
def test_a_profile_where_nothing_is_computed_is_refused(level):
    given = ["--workflow-profile", str(ROOT / "profiles/slurm")]
    done = CliRunner().invoke(verify.main, [*given, *level])
    assert done.exit_code == 1
    assert "--level: seed and full compute by the default settings" in done.output


def test_a_profile_that_is_not_there_is_refused():
    done = CliRunner().invoke(
        verify.main, ["--workflow-profile", "profiles/slurn", "--level", "full"]
    )
    assert done.exit_code == 2
    assert "'profiles/slurn' does not exist" in done.output


@pytest.mark.thorough
def test_every_level_computes_by_a_profile(project: Project):
    project.run("reference", "--config", f"study={STUDY}", quick=False)
    shutil.copytree(project.folder / "profiles/default", project.folder / "profiles/mine")
    for level, found in (
        ("seed", "0 figures, 0 verdicts, 2 fingerprints of runs"),
        ("full", "2 figures, 3 verdicts, 15 fingerprints of runs"),
    ):
        given = ["--study", STUDY, "--level", level, "--workflow-profile", "profiles/mine"]
        output = project.verify(*given)
        assert f"Equal to the reference: {found}" in output
        assert f"{project.folder}/profiles/mine for setting default" in output
        assert not list((project.folder / "results").glob("verify-*"))
