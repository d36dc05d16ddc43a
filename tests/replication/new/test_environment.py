"""The environment that `make` builds: what it asks of pip, when, and what it takes for whole."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT

from replication.new import environment
from replication.new.environment import Failed

LOCK = "# By pip-compile.\nnumpy==2.4.1\ntorch==2.13.0\n"
HASHES = """\
numpy==2.4.1 \\
    --hash=sha256:12 \\
    --hash=sha256:34
other==1 \\
    --hash=sha256:56
"""
CONFIGURATION = """\
:env:.cert='/env.pem'
global.cert='/global.pem'
global.extra-index-url='https://a.org\\nhttps://b.org'
global.target='/elsewhere'
install.user='true'
install.find-links='/my wheels'
wheel.find-links='/not/asked'
"""


class Machine:
    """Programs that only note what they were asked, and install into a folder of nothing."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / ".venv"
        self.started: list[list[str]] = []
        self.environments: list[dict[str, str]] = []
        self.fails = "nothing"

    def __call__(self, words: list[str], variables: dict[str, str]) -> str:
        words = words[1:]
        assert words[0] == "-I"
        self.started.append(words[1:])
        self.environments.append(variables)
        asked = " ".join(words)
        if self.fails in asked:
            raise Failed("all that pip says")
        if "venv --clear" in asked:
            shutil.rmtree(self.venv, ignore_errors=True)
            (self.venv / "bin").mkdir(parents=True)
            (self.venv / "bin/python").symlink_to(sys.executable)
            self.has("pip", "23.0")
        elif "pip config" in asked:
            return CONFIGURATION
        elif "install" in words:
            files = (Path(each) for before, each in pairwise(words) if before == "-r")
            lines = [line for file in files for line in file.read_text().splitlines()]
            for name, version in re.findall(r"(?m)^(\w+)==([\w.]+)", "\n".join([*lines, *words])):
                self.has(name, f"{version}+cpu" if name == "torch" else version)
        return ""

    def has(self, name: str, version: str) -> None:
        folder = self.venv / "lib/python3.11/site-packages"
        for old in folder.glob(f"{name}-*"):
            shutil.rmtree(old)
        (folder / f"{name}-{version}.dist-info").mkdir(parents=True)

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
        ["--no-compile", "--no-deps", "torch==2.13.0", "-e", "."],
    ]
    assert Path(".venv/.hashed").read_text() == HASHES.split("other", maxsplit=1)[0]
    assert machine.started[-1] == ["-c", "import pip, snakemake, torch"]
    assert capsys.readouterr().out == "Installing the environment into .venv, which takes minutes\n"


def test_an_environment_that_is_whole_costs_no_program(machine, capsys):
    make()
    machine.started.clear()
    capsys.readouterr()
    make()
    assert machine.started == []
    assert capsys.readouterr().out == ""


def test_without_hashes_all_comes_at_once(machine):
    make(hashes="")
    assert machine.installs == [
        ["--no-compile", "--no-deps", "numpy==2.4.1", "torch==2.13.0", "-e", "."]
    ]


def test_setuptools_of_the_lock_builds_the_project(machine):
    Path("requirements.lock").write_text(f"{LOCK}setuptools==84.2\n")
    Path("hashes").write_text(f"{HASHES}setuptools==84.2 \\\n    --hash=sha256:78\n")
    make()
    assert "--no-build-isolation" in machine.installs[1]


def test_what_another_tool_replaced_is_installed_again_and_nothing_else(machine, capsys):
    make()
    machine.has("numpy", "2.0.0")
    machine.started.clear()
    capsys.readouterr()
    make()
    assert [words[-1] for words in machine.installs] == [".venv/.hashed"]
    assert "venv" not in [words[1] for words in machine.started]
    assert "has otherwise: numpy==2.4.1" in capsys.readouterr().out
    machine.has("torch", "2.13.0")  # another build of the same version
    machine.started.clear()
    make()
    assert machine.started == []


def test_a_package_without_its_program_is_installed_again(machine):
    make()
    (package,) = machine.venv.glob("lib/*/*/numpy-*")
    (package / "entry_points.txt").write_text("[console_scripts]\nf2py = numpy:f\n[other]\nx = y\n")
    (machine.venv / "bin/f2py").touch()
    machine.started.clear()
    make()
    assert machine.started == []
    (machine.venv / "bin/f2py").unlink()
    make()
    (words,) = machine.installs
    assert words[:3] == ["--no-compile", "--force-reinstall", "--no-deps"]


@pytest.mark.parametrize("origin", ["file:///elsewhere/clone", None])
def test_the_project_of_another_folder_is_replaced_by_that_of_this_one(machine, capsys, origin):
    Path("pyproject.toml").write_text('[project]\nname = "my_paper"\n')
    make()
    package = machine.venv / "lib/python3.11/site-packages/my_paper-1.0.dist-info"
    package.mkdir()
    (package / "direct_url.json").write_text(json.dumps({"url": Path.cwd().as_uri()}))
    machine.started.clear()
    make()
    assert machine.started == []
    if origin:
        (package / "direct_url.json").write_text(json.dumps({"url": origin}))
    else:
        shutil.rmtree(package)
    capsys.readouterr()
    make()
    assert machine.installs == [["--no-compile", "--force-reinstall", "--no-deps", "-e", "."]]
    assert "the project of this folder" in capsys.readouterr().out


def test_a_lock_with_more_adds_what_is_missing(machine):
    make()
    machine.started.clear()
    Path("more.lock").write_text(f"{LOCK}other==1\n")
    make(lock="more.lock")
    assert Path(".venv/.hashed").read_text().startswith("other==1 ")
    machine.started.clear()
    make()
    assert machine.started == []


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


@pytest.mark.parametrize("lost", ["bin/python", "lib/python3.11/site-packages/pip-23.0.dist-info"])
def test_an_environment_without_python_or_pip_is_built_anew(machine, lost):
    make()
    path = machine.venv / lost
    path.rmdir() if path.is_dir() else path.unlink()
    machine.started.clear()
    make()
    assert machine.started[0][:3] == ["-m", "venv", "--clear"]


@pytest.mark.parametrize("failing", ["venv --clear", "--require-hashes", "-e .", "-c import"])
def test_a_failure_leaves_no_mark_and_shows_everything(machine, failing):
    machine.fails = failing
    for _ in range(2):
        with pytest.raises(Failed, match="all that pip says"):
            make()
        assert not Path(".venv/.ready").exists()
    machine.fails = "nothing"
    make()
    assert Path(".venv/.ready").is_file()


def test_what_is_not_installed_in_its_version_leaves_no_mark(machine, monkeypatch):
    monkeypatch.setattr(machine, "has", lambda *_: None)
    with pytest.raises(Failed, match=r"pip has not installed numpy==2.4.1, torch==2.13.0"):
        make()
    assert not Path(".venv/.ready").exists()


def test_a_failure_that_changed_nothing_keeps_the_environment(machine):
    """For example that of `make tools` without a network."""
    make()
    Path("more.lock").write_text(f"{LOCK}other==1\n")
    machine.fails = "--require-hashes"
    with pytest.raises(Failed):
        make(lock="more.lock")
    machine.started.clear()
    make()
    assert machine.started == []


def test_what_no_lock_has_is_installed_where_it_is_needed(machine):
    """On another system or Python, or with another build of torch."""
    machine.fails = "pip check"
    make()
    assert machine.installs[-1] == ["--no-compile", "-r", "requirements.lock"]


def test_the_places_of_a_user_count_and_nothing_else_of_python_and_pip(machine, monkeypatch):
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PIP_USER", "PIP_TARGET"):
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    make()
    for variables in machine.environments:
        assert not [name for name in variables if name.startswith("PYTHON")]
        assert variables["https_proxy"] == "http://proxy:1"
    pip = {name: text for name, text in machine.environments[-2].items() if name[:4] == "PIP_"}
    assert pip == {
        "PIP_CERT": "/env.pem",
        "PIP_EXTRA_INDEX_URL": "https://a.org\nhttps://b.org",
        "PIP_FIND_LINKS": "/my wheels",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def test_pip_config_is_read_as_pip_writes_it(tmp_path, monkeypatch):
    """By this environment's pip, from a file and from variables."""
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\ntarget = /x\nindex-url = https://a.org/simple\n[install]\nuser = true\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_PROXY", "http://it's:1")
    found = environment.pip_variables(Path(sys.executable))
    assert (found["PIP_INDEX_URL"], found["PIP_PROXY"]) == ("https://a.org/simple", "http://it's:1")
    assert not {"PIP_TARGET", "PIP_USER"} & found.keys()


@pytest.mark.parametrize(
    ("line", "is_there"),
    [
        ("Ruamel_Yaml==0.18.0", True),
        ("ruamel-yaml==0.18", False),
        ("stamps==2026.1.2", True),
        ("torch==2.13.0", True),
        ("engine @ git+https://a.org/b@c#subdirectory=engine", True),
        ("wheels/engine-1.0.0-py3-none-any.whl", True),
        ("wheels/engine-1.0.1-py3-none-any.whl", False),
        ("absent @ https://a.org/absent.whl", False),
        ("double==1", False),
    ],
)
def test_a_line_of_a_lock_is_compared_with_what_is_installed(tmp_path, line, is_there):
    packages = tmp_path / "lib/python3.12/site-packages"
    for name in ("ruamel.yaml-0.18.0", "stamps-2026.01.02", "torch-2.13.0+cu130", "engine-1.0.0",
                 "double-1", "double-2"):  # fmt: skip
        (packages / f"{name}.dist-info").mkdir(parents=True)
    lock = tmp_path / "lock"
    lock.write_text(f"{line}\n")
    assert environment.differing(lock, environment.installed(tmp_path)) == [line] * (not is_there)


def test_a_program_that_fails_is_told_in_full(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in environment.FILES:
        Path(name).touch()
    Path("lib").mkdir()
    program = "import sys; print('why'); print('where', file=sys.stderr); sys.exit(3)"
    with pytest.raises(Failed, match=r"^(?s:why\nwhere\n.*exit status 3)$"):
        environment.run([sys.executable, "-u", "-c", program], dict(os.environ))
    assert capsys.readouterr() == ("", "")


def test_it_needs_nothing_that_is_not_pythons(tmp_path):
    """`make` starts it before anything is installed."""
    words = [sys.executable, "-I", "-S", ROOT / "src/replication/new/environment.py", "--help"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
