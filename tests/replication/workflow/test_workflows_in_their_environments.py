"""Every command of every workflow of GitHub, in an environment of exactly what its job installs.

The environments are real ones, which the workflows' own steps build with `make`. All jobs share one
checkout and come in the order of what they install, as each lock has all of the one before: what
`pip list` then names is compared with the lock, so that no job has what another one installed.

Studies are as small as they get: the template, as the study of a plain run, and a copy of it that
imports what pretrained encoders need; that of every real study all packages are installed,
`test_workflows_of_github.py` finds by their imports. Jobs that run tests and linters, or check
documents, do so in the whole project, and no test but all imports of tests are run.

Three things stand in for what is not here: `sudo apt-get` installs nothing, the newest packages are
those of the lock, and two commands are only looked at: `make audit`, which asks PyPI of every
package, and the draft of a release.
"""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import OF_ENCODERS, ROOT
from runner import Failed, Job, Runner
from test_workflows_of_github import OUTSIDE, WORKFLOWS, locks, pins

pytestmark = pytest.mark.campaign

STUDIES = ("example", "encoded")
OWN = {"pip", "transformer-dynamics"}
"""In every environment."""
WHOLE = ("make test", "make explore", "make portable", ".ci/run", "generate --check")
"""Commands of jobs that need the whole project."""
TARGETS = (
    "environment", "encoders", "tools", "test", "test-all", "explore", "portable", "newest"
)  # fmt: skip
"""Targets of `make` that install something, in the order of how much; the last begins anew."""
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """The project on branch `whole`, and small on branch `main`, whose second commit is new."""
    place = tmp_path_factory.mktemp("github")
    origin, folder = place / "origin.git", place / "checkout"
    git(place, "clone", "--quiet", "--bare", str(ROOT), str(origin))
    git(place, "clone", "--quiet", "--no-checkout", str(origin), str(folder))
    git(folder, "update-ref", "refs/heads/whole", "HEAD")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/whole")
    listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, git(ROOT, *listed).split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    commit(folder, "The project")
    git(folder, "checkout", "--quiet", "-B", "main")
    make_small(folder)
    commit(folder, "Small")
    # What a pull request changes.
    with (folder / "README.md").open("a") as stream:
        stream.write("\nChanged.\n")
    commit(folder, "A change")
    return folder


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)


def make_small(folder: Path) -> None:
    """Two small studies and their reference."""
    package = folder / "src/transformer_dynamics"
    for name in ("results/reference", "reproductions"):
        shutil.rmtree(folder / name)
    for study in package.glob("*/study.py"):
        if study.parent.name != "example":
            shutil.rmtree(study.parent)
    shutil.copytree(package / "example", package / "encoded")
    for path in (package / "encoded").rglob("*.py"):
        path.write_text(path.read_text().replace("dynamics.example", "dynamics.encoded"))
    training = package / "encoded/training.py"
    imports = "".join(f"import {name}  # noqa: F401\n" for name in sorted(OF_ENCODERS))
    training.write_text(
        training.read_text().replace("import numpy as np\n", f"import numpy as np\n{imports}")
    )
    with (package / "example/study.py").open("a") as stream:
        stream.write("\nDEFAULT = True\n")
    subprocess.run(
        [sys.executable, "-m", "snakemake", "reference", "--config", f"study={','.join(STUDIES)}"],
        cwd=folder, env=OUTSIDE | {"PYTHONPATH": str(folder / "src")}, check=True,
    )  # fmt: skip


def target(job: Job) -> str | None:
    """The target of `make` that builds the environment of a job, if it has one."""
    text = " ".join(step["run"] for step in job.steps).replace(
        "$PACKAGES", job.environment.get("PACKAGES", "")
    )
    if ".ci/run" in text:
        return "test"
    words = text.replace('"', " ").split()
    made = [word for before, word in pairwise(words) if before == "make"]
    return next((word for word in made if word in TARGETS), None)


def test_every_command_runs_in_what_its_job_installs(checkout, tmp_path):
    mine = {"PYTHONPATH", "VIRTUAL_ENV"}
    environment = {name: value for name, value in OUTSIDE.items() if name not in mine}
    here = Path(sys.executable).parent
    folders = environment["PATH"].split(os.pathsep)
    environment["PATH"] = os.pathsep.join(part for part in folders if Path(part) != here)
    runner = Runner(checkout, tmp_path / "runner", environment | {"PYTHON": sys.executable})
    jobs = [job for path in WORKFLOWS for job in runner.jobs(path.stem, path.read_text())]
    ordered = [(target(job), job) for job in jobs if is_run(job)]
    ordered.sort(key=lambda item: TARGETS.index(item[0]) if item[0] else -1)
    assert {f"weekly full {study} encoders" for study in STUDIES} <= {job.where for job in jobs}
    failures = []
    for made, job in ordered:
        try:
            run(runner, made, job, tmp_path / "receipts")
        except Failed as failure:  # what one job shows holds without the others
            failures.append(str(failure))
    assert not failures, "\n\n".join(failures)
    told = sorted(path.name for path in (tmp_path / "receipts").iterdir())
    assert told == [
        f"weekly-full-{study}-{packages}.json"
        for study in sorted(STUDIES)
        for packages in ("encoders", "newest")
    ]


def is_run(job: Job) -> bool:
    """Whether a job can run here: nobody outside is asked, and there is one Python."""
    *_, last = job.where.split()
    is_other_python = last.startswith("3.") and last != PYTHON
    asks = any(step["run"].startswith(("make audit", "gh ")) for step in job.steps)
    return not is_other_python and not asks


def run(runner: Runner, made: str | None, job: Job, receipts: Path) -> None:
    folder = runner.checkout
    text = " ".join(step["run"] for step in job.steps)
    is_whole = any(command in text for command in WHOLE)
    git(folder, "clean", "--quiet", "-ffdx", "--exclude=.venv")
    git(folder, "checkout", "--quiet", "whole" if is_whole else "main")
    # Where packages come from is this machine's matter.
    job.environment.pop("PIP_EXTRA_INDEX_URL", None)
    if made == "newest":
        job.environment["PIP_CONSTRAINT"] = str(ROOT / "requirements-dev.lock")
    if is_whole:
        job.environment["PYTEST_ADDOPTS"] = "--collect-only --quiet"
    print(job.where, flush=True)
    runner.run(job)
    if ".github/verify full" in text:
        receipts.mkdir(exist_ok=True)
        (folder / "receipt.json").rename(receipts / f"{job.where.replace(' ', '-')}.json")
    if made:
        listed = [str(folder / ".venv/bin/python"), "-m", "pip", "list", "--format=json"]
        found = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
        names = {
            item["name"].lower().replace("_", "-").replace(".", "-") for item in json.loads(found)
        }
        expected = {name.replace(".", "-") for name in frozenset().union(*map(pins, locks(made)))}
        assert names - OWN == expected, job.where
