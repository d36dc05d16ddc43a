"""A new repository: its name and its folder, its lock, and what is left of the template."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import ROOT, counted

from replication.base.errors import InputError
from replication.new import command
from replication.new.lock import lock

LOCKED = "numpy==1.0\n"


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty working folder, and a short lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "lock", lambda names, folder: LOCKED)
    return tmp_path


def new(*words: str) -> str:
    done = CliRunner().invoke(command.main, words)
    return done.output if done.exit_code == 0 else f"refused: {done.output}"


@pytest.mark.parametrize("words", [["mypaper"], ["mypaper", "--torch"]])
def test_a_repository_is_made(empty, words):
    assert "Next: `make figures/fig1.pdf`" in new(*words)
    found = {path.name for path in empty.iterdir()}
    made = {
        ".git",
        ".gitignore",
        ".github",
        "Makefile",
        "Snakefile",
        "environment.py",
        "src",
        "tests",
    }
    assert made <= found
    assert (empty / "requirements.lock").read_text() == LOCKED
    assert ("import torch" in (empty / "src/mypaper/training.py").read_text()) == (len(words) > 1)
    assert not [path for path in empty.rglob("*") if re.search(r"new-|\.jinja$", path.name)]


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


def test_an_empty_clone_keeps_its_repository(empty):
    git("init")
    git("config", "user.name", "me")
    new("mypaper")
    assert "name = me" in (empty / ".git/config").read_text()
    assert (empty / "Snakefile").is_file()


def test_a_worktree_keeps_its_repository(empty, tmp_path_factory, monkeypatch):
    author = ("-c", "user.name=a", "-c", "user.email=a@b.org")
    git("init")
    git(*author, "commit", "--allow-empty", "--message", "a")
    folder = tmp_path_factory.mktemp("worktree") / "mypaper"
    git("worktree", "add", "--detach", str(folder))
    monkeypatch.chdir(folder)
    assert "Next: " in new("mypaper")
    assert (folder / ".git").is_file()


def make_others_folder():
    Path(".git/left").mkdir(parents=True)


def make_damaged():
    git("init")
    Path(".git/HEAD").write_bytes(b"\0")


def make_damaged_file():
    Path(".git").write_text("gitdir: /nowhere")


def make_link():
    Path(".git").symlink_to("nowhere")


@pytest.mark.parametrize("damage", [make_others_folder, make_damaged, make_damaged_file, make_link])
def test_what_is_no_repository_is_refused_and_kept(empty, damage):
    damage()
    before = {*empty.rglob("*")}
    assert f"refused: Error: {empty / '.git'}: git cannot read this repository" in new("mypaper")
    assert {*empty.rglob("*")} == before


def test_an_empty_folder_named_git_is_in_nobodys_way(empty):
    (empty / ".git").mkdir()
    assert "Next: " in new("mypaper")
    assert (empty / ".git/HEAD").is_file()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nothing_is_deleted_that_it_did_not_make(empty, kind):
    mine = empty / ".replication-new-mine"
    kept = mine if kind == "file" else mine / "notes.txt"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("mine")
    assert "is not empty, it has .replication-new-mine; start in an empty folder" in new("mypaper")
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2024paper", "2024paper: is no name of a package; begin with a letter"),
        ("My-Paper", "My-Paper: is no name of a package"),
        ("class", "class: is already the name of something else; choose another name"),
        ("report", "report: is already the name of something else"),
        ("json", "json: is already the name of something else"),
        ("computation", "computation: is already the name of something else"),
        ("tests", "tests: is already the name of something else"),
        ("null", "null: is already the name of something else"),
    ],
)
def test_a_bad_name_is_refused_and_nothing_is_written(empty, name, message):
    assert f"refused: Error: {message}" in new(name)
    assert not [*empty.iterdir()]


def test_a_folder_with_files_is_refused(empty):
    (empty / "notes.txt").touch()
    assert "is not empty, it has notes.txt; start in an empty folder" in new("mypaper")
    assert [path.name for path in empty.iterdir()] == ["notes.txt"]


def test_a_failure_leaves_nothing(empty, monkeypatch):
    def fail(*words, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("copier.run_copy", fail)
    assert "cannot be written to (No space left on device)" in new("mypaper")
    assert not [*empty.iterdir()]


def test_git_is_needed(empty, monkeypatch):
    monkeypatch.setenv("PATH", str(empty))
    assert "git: is not installed; install it first" in new("mypaper")
    assert not [*empty.iterdir()]


@pytest.mark.parametrize("words", [[], ["--torch"]])
def test_its_files_name_only_what_is_there(empty, words):
    """Nobody who has just the engine's wheel has this repository's documents."""
    new("mypaper", *words)
    files = [path for path in empty.rglob("*") if path.is_file() and ".git" not in path.parts]
    pattern = r"\b\w[\w/]*/\w+\.(?:md|py|yaml)\b"
    named = {name for path in files for name in re.findall(pattern, path.read_text())}
    absent = {name for name in named if not (empty / name).exists()}
    assert absent == {"results/mypaper/verdicts.md"}
    assert len((empty / "Snakefile").read_text().splitlines()) == 3


def test_its_documents_are_generated(empty):
    new("mypaper")
    readme = empty / "README.md"
    readme.rename(f"{readme}.jinja").write_text('# My paper\n\n{{ abstract("mypaper") }}\n')
    found = {}
    for words in ([], ["--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "replication", "generate", *words],
            env={**os.environ, "PYTHONPATH": str(empty / "src")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found[*words] = (done.returncode, done.stderr)
    assert {*found.values()} == {(0, "")}
    assert "C1" in (empty / "docs/mypaper/claims.md").read_text()
    assert "[C1](docs/mypaper/claims.md#C1)" in readme.read_text()
    for page in (empty / "docs").rglob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"


DIVERGED = """
import sys
from pathlib import Path
from replication.judge.scorecard import read_verdict
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.run.stages import make_output
from replication.study.studies import find_studies
large = {"large_rate": {"training": {"learning_rate": float(sys.argv[1])}}}
studies = find_studies()
jobs = Jobs.of(configure({"mypaper": {"experiments": large}}, studies), studies)
verdict = "results/mypaper/verdicts/C1.json"
needed = dict(jobs.closure([verdict]))
for path in (path for path in jobs.steps if path in needed):
    make_output(jobs.ready(path))
found = read_verdict(Path(verdict))
print(found.verdict, found.summary, sep="\\n")
"""


@pytest.mark.parametrize("rate", ["1e30", "3"])
@pytest.mark.parametrize(
    ("words", "seeds"),
    [([], "1-10"), pytest.param(["--torch"], "1-5", marks=pytest.mark.thorough)],
)
def test_a_training_that_diverges_supports_no_claim(empty, words, seeds, rate):
    """Its metric is made to say a small number then, as an accuracy of the first class is one.

    At the smaller rate the numbers of a run stay finite.
    """
    new("mypaper", *words)
    metrics = empty / "src/mypaper/metrics.py"
    loss = 'np.asarray(run.arrays["losses"], float)'
    assert loss in metrics.read_text()
    metrics.write_text(
        metrics.read_text().replace(loss, f"np.nan_to_num({loss}, nan=1e-9, posinf=1e-9)")
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DIVERGED, rate],
        env={**os.environ, "PYTHONPATH": str(empty / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "not tested",
        "'large over small' is not measured, as the training of seed"
        f" {seeds} diverged in experiment large_rate",
    ], done.stderr
    assert "not finite, in the array(s) losses, as after a training that diverged" in done.stderr


def test_without_the_engine_its_snakefile_says_so_in_one_sentence(empty):
    new("mypaper")
    words = "import sys; sys.modules['replication'] = None; exec(open('Snakefile').read())"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=False
    )
    assert done.stderr == (
        "The engine is not installed for this Python: run `make environment`,"
        " then `.venv/bin/snakemake`.\n"
    )


def test_the_actions_are_those_of_this_repository(empty):
    new("mypaper")
    used, own = (
        {
            each
            for path in folder.glob("*.yml")
            for each in re.findall("uses: (.*)", path.read_text())
        }
        for folder in (empty / ".github/workflows", ROOT / ".github/workflows")
    )
    assert used
    assert used <= own


def test_a_lock_has_all_that_a_package_needs(tmp_path):
    lines = lock(["pandas"], tmp_path).splitlines()
    assert {"numpy", "pandas"} <= {line.partition("==")[0] for line in lines}
    assert all(re.fullmatch(r"[a-z-]+==[\w.]+", line) for line in lines)


def made_by_pip(monkeypatch, folder, name, origin):
    """The lock of a package that pip got from somewhere."""
    found = SimpleNamespace(requires=None, version="1+cpu", read_text=lambda _: json.dumps(origin))
    monkeypatch.setattr("replication.new.lock.distribution", lambda _: found)
    return lock([name], folder)


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ({"url": "https://c.org/b.whl", "archive_info": {}}, "https://c.org/b.whl"),
        (
            {"url": "https://c.org/d", "vcs_info": {"vcs": "git", "commit_id": "e"},
             "subdirectory": "f"},
            "git+https://c.org/d@e#subdirectory=f",
        ),
    ],
)  # fmt: skip
def test_an_engine_of_an_address_is_locked_to_it(monkeypatch, tmp_path, origin, address):
    made = made_by_pip(monkeypatch, tmp_path, "replication-engine", origin)
    assert made == f"replication-engine @ {address}\n"


@pytest.mark.parametrize("url", ["file:///home/conda/feedstock_root/b", "file:///a/b.whl"])
def test_a_path_of_this_machine_is_left_out(monkeypatch, tmp_path, url):
    """As that of every package of conda."""
    assert made_by_pip(monkeypatch, tmp_path, "b", {"url": url, "dir_info": {}}) == "b==1\n"


@pytest.mark.parametrize("place", ["of the engine", "project/.venv/wheels"])
def test_a_wheel_of_the_engine_comes_along(empty, monkeypatch, place):
    """Where nobody else can get it, so that the workflows run as they are."""
    project, other = empty / "project", empty / "other"
    wheel = empty / place / "replication_engine-1.0.0-py3-none-any.whl"
    for folder in (project, other, wheel.parent):
        folder.mkdir(parents=True, exist_ok=True)
    wheel.write_bytes(b"PK")
    origin = {"url": wheel.as_uri()}
    monkeypatch.setattr(
        command, "lock", lambda names, folder: made_by_pip(monkeypatch, folder, names[0], origin)
    )
    monkeypatch.chdir(project)
    assert "Next: " in new("mypaper")
    path = f"wheels/{wheel.name}"
    assert (project / path).read_bytes() == b"PK"
    assert (project / "requirements.lock").read_text() == f"{path}\n"
    wheel.unlink()
    monkeypatch.chdir(other)
    assert f"{wheel}: is not there any more; install the engine again" in new("mypaper")
    assert not [*other.iterdir()]


@pytest.mark.thorough
def test_a_clone_builds_the_wheel_and_leaves_nothing(empty, monkeypatch):
    monkeypatch.setattr(command, "lock", lock)
    build = ROOT / "engine/build"
    was_there = build.exists()
    assert "Next: " in new("mypaper")
    (wheel,) = (empty / "wheels").iterdir()
    assert f"\nwheels/{wheel.name}\n" in (empty / "requirements.lock").read_text()
    assert "file:" not in (empty / "requirements.lock").read_text()
    with zipfile.ZipFile(wheel) as opened:
        assert {"replication/workflow/engine.smk", "replication/new/environment.py"} <= {
            *opened.namelist()
        }
    assert build.exists() == was_there


def test_a_package_that_is_not_installed_cannot_be_locked(tmp_path):
    with pytest.raises(InputError, match="no-such-package: is not installed; install it"):
        lock(["no-such-package"], tmp_path)


@pytest.mark.parametrize("words", [[], ["--torch"]])
def test_its_code_has_the_style_of_this_repository(empty, words):
    new("mypaper", *words)
    for task in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *task, "--no-cache"]
        options = ["--config", ROOT / "pyproject.toml", "."]
        done = subprocess.run([*ruff, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def plugins() -> list[str]:
    """The lines of the lock for a cluster."""
    text = (command.TEMPLATE / "project/requirements-cluster.lock").read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_its_plugins_are_those_of_this_repository():
    assert {*plugins()} <= {*(ROOT / "requirements-cluster.lock").read_text().splitlines()}
    engine = tomllib.loads((ROOT / "engine/pyproject.toml").read_text())["project"]
    assert {*engine["optional-dependencies"]["slurm"]} <= {*plugins()}


def test_its_locks_have_all_that_the_plugins_need():
    engine = tomllib.loads((ROOT / "engine/pyproject.toml").read_text())["project"]
    names = [re.match(r"[\w-]+", each)[0] for each in engine["dependencies"]]
    lines = (*lock(names, ROOT).splitlines(), *plugins())
    locked = {line.partition("==")[0] for line in lines}
    needed = {name for line in plugins() for name in requires(line.partition("==")[0])}
    assert {re.match(r"[\w-]+", each)[0].lower() for each in needed} <= locked


def test_its_makefile_installs_the_plugins(empty):
    new("mypaper")
    words = ["make", "--no-print-directory", "--dry-run", "cluster"]
    done = subprocess.run(words, cwd=empty, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].endswith(" requirements-cluster.lock --venv .venv")


@pytest.mark.usefixtures("warm_python")
def test_its_profile_of_slurm_is_accepted(empty):
    new("mypaper", "--torch")
    profile = (empty / "profiles/slurm/config.yaml").read_text()
    (example,) = re.findall(r"snakemake (.*)", profile.splitlines()[0])
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *example.split(), "--dry-run", "--printshellcmds"],
        cwd=empty, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{empty / 'src'}:{ROOT / 'src'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert counted(done.stdout)["figure"] == 2
