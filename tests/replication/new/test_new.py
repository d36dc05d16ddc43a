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

from replication.new import command
from replication.new.command import lock, packages_behind

LOCKED = "numpy==1.0\n"


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty working folder, and a short lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "lock", lambda folder, others: LOCKED)
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


def test_a_damaged_repository_is_refused_and_kept(empty):
    Path(".git").write_text("gitdir: /nowhere")
    before = {*empty.rglob("*")}
    assert "refused: Error: git init" in new("mypaper")
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
    "name",
    ["2024paper", "My-Paper", "class", "report", "json", "computation", "tests", "null"],
)
def test_a_bad_name_is_refused_and_nothing_is_written(empty, name):
    assert f"refused: Error: {name}: cannot name a study and its package; take" in new(name)
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


def test_a_lock_has_all_that_packages_need():
    assert {"numpy", "pandas", "python-dateutil"} <= packages_behind(["pandas>=1"])
    assert packages_behind(["numpy; python_version < '3'"]) == set()


def locked(monkeypatch, folder, origin):
    """The lock of an engine that pip got from somewhere, and what pip was asked."""
    asked = []
    found = SimpleNamespace(requires=["click"], version="1", read_text=lambda _: origin)
    monkeypatch.setattr(command, "distribution", lambda _: found)

    def run(*words):
        asked.extend(words[4:])
        (folder / "wheels").mkdir()
        (folder / "wheels/engine.whl").touch()

    monkeypatch.setattr(command, "_run", run)
    return lock(folder, []).splitlines(), asked


def test_an_engine_of_an_index_is_locked_to_its_version(monkeypatch, tmp_path):
    lines, asked = locked(monkeypatch, tmp_path, None)
    assert re.fullmatch(r"click==[\d.]+", lines[0])
    assert (lines[-1], asked) == ("replication-engine==1", [])


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ({"url": "https://c.org/b.whl", "archive_info": {}}, "https://c.org/b.whl"),
        ({"url": "file:///a/b.whl"}, "/a/b.whl"),
        (
            {"url": "https://c.org/d", "vcs_info": {"vcs": "git", "commit_id": "e"},
             "subdirectory": "f"},
            "git+https://c.org/d@e#subdirectory=f",
        ),
    ],
)  # fmt: skip
def test_a_wheel_of_any_other_engine_comes_along(monkeypatch, tmp_path, origin, address):
    """Nobody else can get it, and the workflows run as they are."""
    lines, asked = locked(monkeypatch, tmp_path, json.dumps(origin))
    assert "wheels/engine.whl" in lines
    assert (asked[0], asked[-1]) == ("wheel", address)


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


def test_a_package_that_is_not_installed_cannot_be_locked(empty, monkeypatch):
    monkeypatch.setattr(command, "lock", lambda *_: packages_behind(["no-such-package"]))
    assert "no-such-package: is not installed; install it" in new("mypaper")
    assert not [*empty.iterdir()]


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
    locked = packages_behind(engine["dependencies"])
    locked |= {line.partition("==")[0] for line in plugins()}
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
