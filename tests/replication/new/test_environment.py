"""The environment that `make` builds: what it asks of pip, when, and what it takes for whole."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT

from replication.new import environment

LOCK = "# By pip-compile.\nnumpy==2.4.1\ntorch==2.13.0\n"
HASHES = """\
numpy==2.4.1 \\
    --hash=sha256:12 \\
    --hash=sha256:34
other==1 \\
    --hash=sha256:56
"""


class Machine:
    """Programs that only note what they were asked, and install into a folder of nothing."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / ".venv"
        self.started: list[list[str]] = []
        self.fails = "nothing"

    def __call__(self, _: str, *words: str) -> None:
        self.started.append([*words])
        if self.fails in " ".join(words):
            raise subprocess.CalledProcessError(1, words)
        if "venv" in words:
            shutil.rmtree(self.venv, ignore_errors=True)
            (self.venv / "bin").mkdir(parents=True)
            (self.venv / "bin/python").symlink_to(sys.executable)
        files = (Path(each) for before, each in pairwise(words) if before == "-r")
        lines = {line for file in files for line in file.read_text().splitlines()}
        for line in sorted(line for line in lines if "==" in line):
            self.has(line.split()[0].replace("==", "-"))

    def has(self, package: str) -> Path:
        """Install a package, unless it is there."""
        folder = self.venv / f"lib/python3.11/site-packages/{package}.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def installs(self) -> list[list[str]]:
        """What pip was asked to install."""
        return [words[5:] for words in self.started if words[:3] == ["-m", "pip", "install"]]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.lock").write_text(LOCK)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "hashes").write_text(HASHES)
    made = Machine(tmp_path)
    monkeypatch.setattr(environment, "run", made)
    return made


def make(*imports: str, lock: str = "requirements.lock", hashes: str = "hashes") -> None:
    environment.update(Path(".venv"), Path(lock), hashes, ["snakemake", *imports])


def test_what_has_hashes_comes_first_then_the_rest_with_the_project(machine, capsys):
    make("torch")
    assert machine.installs == [
        ["--no-compile", "--no-deps", "--require-hashes", "-r", ".venv/.hashed"],
        ["--no-compile", "-r", "requirements.lock", "-e", "."],
    ]
    assert Path(".venv/.hashed").read_text() == HASHES.split("other", maxsplit=1)[0]
    assert machine.started[-1] == ["-c", "import pip, snakemake, torch"]
    assert "Installing what requirements.lock has into .venv" in capsys.readouterr().out


def test_an_environment_that_is_whole_costs_no_program(machine, capsys):
    make()
    machine.started.clear()
    capsys.readouterr()
    make()
    assert machine.started == []
    assert capsys.readouterr().out == ""


def test_without_hashes_the_lock_comes_first(machine):
    make(hashes="")
    assert machine.installs[0] == ["--no-compile", "--no-deps", "-r", "requirements.lock"]


def test_setuptools_of_the_lock_builds_the_project(machine):
    Path("requirements.lock").write_text(f"{LOCK}setuptools==84.2\n")
    make()
    assert "--no-build-isolation" not in machine.installs[0]
    assert "--no-build-isolation" in machine.installs[1]


@pytest.mark.parametrize("change", ["other version", "another one", "installed again"])
def test_where_another_tool_changed_packages_pip_mends_them(machine, change):
    make()
    package = machine.has("numpy-2.4.1")
    if change == "other version":
        package.rename(package.with_name("numpy-2.0.0.dist-info"))
    elif change == "another one":
        machine.has("ipython-9")
    else:
        os.utime(package, (1, 1))
    machine.started.clear()
    make()
    assert len(machine.installs) == 2
    assert "venv" not in machine.started[0]
    machine.started.clear()
    make()
    assert machine.started == []


def test_a_lock_with_more_adds_what_is_missing_and_both_stay(machine):
    make()
    machine.started.clear()
    Path("more.lock").write_text(f"{LOCK}other==1\n")
    make(lock="more.lock")
    assert "venv" not in machine.started[0]
    machine.started.clear()
    make()
    make(lock="more.lock")
    assert machine.started == []
    Path("more.lock").write_text(f"{LOCK}other==2\n")
    make(lock="more.lock")
    assert len(machine.installs) == 2


@pytest.mark.parametrize("file", ["requirements.lock", "pyproject.toml"])
def test_another_lock_or_project_is_built_anew(machine, file):
    make()
    machine.started.clear()
    Path(file).write_text(f"{LOCK}# changed\n")
    make()
    assert machine.started[0][:3] == ["-m", "venv", "--clear"]


def test_a_moved_folder_is_built_anew(machine, tmp_path, monkeypatch):
    make()
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("requirements.lock", "pyproject.toml", "hashes", ".venv"):
        (tmp_path / name).rename(moved / name)
    monkeypatch.chdir(moved)
    machine.venv = moved / ".venv"
    machine.started.clear()
    make()
    assert machine.started[0][:3] == ["-m", "venv", "--clear"]


@pytest.mark.parametrize("damage", ["no python", "a cut mark"])
def test_an_environment_without_python_or_mark_is_built_anew(machine, damage):
    make()
    if damage == "no python":
        (machine.venv / "bin/python").unlink()
    else:
        (machine.venv / ".ready").write_text('{"origin": [')
    machine.started.clear()
    make()
    assert machine.started[0][:3] == ["-m", "venv", "--clear"]


@pytest.mark.parametrize("failing", ["venv --clear", "--require-hashes", "-e .", "-c import"])
def test_a_failure_leaves_no_mark(machine, failing):
    machine.fails = failing
    for _ in range(2):
        with pytest.raises(subprocess.CalledProcessError):
            make()
        assert not Path(".venv/.ready").exists()
    machine.fails = "nothing"
    make()
    assert Path(".venv/.ready").is_file()


def test_a_failure_that_changed_nothing_keeps_the_environment(machine):
    """For example that of `make tools` without a network."""
    make()
    Path("more.lock").write_text(f"{LOCK}other==1\n")
    machine.fails = "--require-hashes"
    with pytest.raises(subprocess.CalledProcessError):
        make(lock="more.lock")
    machine.started.clear()
    make()
    assert machine.started == []


def test_nothing_of_the_users_python_counts_and_pip_has_their_places(monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://a.org/simple")
    monkeypatch.setenv("PIP_USER", "1")
    told = "import os; print(*(os.environ.get(x) for x in ('PYTHONPATH', 'PIP_INDEX_URL')))"
    environment.run(sys.executable, "-c", told)
    assert capfd.readouterr().out == "None https://a.org/simple\n"
    environment.run(sys.executable, "-c", "import os; assert os.environ['PIP_USER'] == '0'")


def test_a_failure_ends_in_one_sentence_after_what_the_program_says(tmp_path):
    for name in environment.FILES:
        (tmp_path / name).touch()
    program = ROOT / "src/replication/new/environment.py"
    # No environment can have a colon in its path.
    words = [sys.executable, "-I", "-S", program, "requirements.lock", "--venv", "a:b"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("\na:b: is no environment yet; see the error above\n")


def test_it_needs_nothing_that_is_not_pythons(tmp_path):
    """`make` starts it before anything is installed."""
    words = [sys.executable, "-I", "-S", ROOT / "src/replication/new/environment.py", "--help"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
