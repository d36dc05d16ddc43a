"""The engine from a wheel: without the papers of this repository."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = pytest.mark.thorough
BUILT_FROM = ("engine", "src/replication", "workflow", "profiles", "LICENSE")
VERIFY = ("replication", "verify")
VARIANTS = [pytest.param([], id="plain"), pytest.param(["--torch"], id="torch")]


def run(*words: str | Path, folder: Path) -> str:
    """What a program prints that knows nothing of this repository."""
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The engine's wheel, built from a copy: a build leaves files."""
    folder = tmp_path_factory.mktemp("engine")
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (folder / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, folder / name, **({"symlinks": True} if copy is shutil.copytree else {}))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, folder / "engine", folder=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python that has the wheel, and this environment's packages without this repository."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Files .pth there, such as this repository's, are not read.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", wheel, folder=folder)
    return folder / "bin/python"


@pytest.fixture(scope="module", params=VARIANTS)
def project(request, python, tmp_path_factory):
    """A repository that `new` makes."""
    folder = tmp_path_factory.mktemp("project")
    run(python, "-m", "replication", "new", "mypaper", *request.param, folder=folder)
    return folder


@pytest.fixture(scope="module")
def installed(python, project):
    """The project on the import path, as `pip install -e .` puts it there."""
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    (packages / "project.pth").write_text(str(project / "src"))
    yield project
    (packages / "project.pth").unlink()


def test_a_project_that_is_not_installed_is_refused(python, project):
    words = [python, "-m", "snakemake", "--dry-run", "figures/fig1.pdf"]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"src: is not installed for {python}: run `make" in done.stdout
    assert "or `pip install` without `-e`, is a copy that the workflow does not run" in done.stdout


def test_a_study_of_a_project_of_its_own_is_made(python, installed):
    verdict = "results/mypaper/verdicts/C1.json"
    run(python, "-m", "snakemake", "figures/fig1.pdf", verdict, folder=installed)
    assert (installed / "figures/fig1.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((installed / verdict).read_text())["verdict"] == "replicated"


def test_a_change_of_its_code_makes_it_anew(python, installed):
    training = installed / "src/mypaper/training.py"
    training.write_text(training.read_text() + "\n\nNEW = 1\n")
    planned = run(python, "-m", "snakemake", "figures/fig1.pdf", "-np", folder=installed)
    assert re.search(r"^runs +\d", planned, re.MULTILINE)
    assert not re.search(r"^data +\d", planned, re.MULTILINE)


def test_jobs_depend_on_the_code_of_both_and_on_installed_packages(python, installed):
    program = (
        "import json;"
        "from replication.base.keys import surroundings_of;"
        "print(json.dumps(surroundings_of(('mypaper.data',))))"
    )
    found = json.loads(run(python, "-c", program, folder=installed))
    assert {"mypaper.data", "replication.base.random_streams"} <= found["code"].keys()
    assert "numpy" in found["packages"]


def test_its_tests_pass(python, installed):
    assert "2 passed" in run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder=installed
    )


@pytest.mark.parametrize("words", [["snakemake", "-n", "reference"], [*VERIFY, "--write"]])
def test_no_reference_is_written_while_the_template_is_left(python, installed, words):
    done = subprocess.run(
        [python, "-m", *words], cwd=installed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    told = done.stdout + done.stderr
    assert (
        "no reference is kept before these marks are replaced:\nREADME.md, line 1: the title"
        in told
    )
    title = re.search(
        r"^src/mypaper/registry.yaml, line (\d+): the title of the paper$", told, re.M
    )
    assert title
    lines = (installed / "src/mypaper/registry.yaml").read_text().splitlines()
    assert "TODO" in lines[int(title[1]) - 1]


def test_the_command_is_installed(python, installed):
    assert "verify" in run(python.with_name("replication"), "--help", folder=installed)
