"""An environment that `make` builds from nothing, in surroundings that would spoil it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FIGURE, ROOT

pytestmark = pytest.mark.campaign
INDEX = "is ignored: it is neither a file nor a directory"
"""Words of pip about a package that one of a machine's own indexes does not have."""


def run(folder: Path, environment: dict[str, str], *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines(keepends=True)
    return done.returncode, done.stdout, "".join(line for line in lines if INDEX not in line)


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    """Variables and files as clusters and users have them; places of packages stay."""
    folder = tmp_path_factory.mktemp("surroundings")
    for name in ("numpy", "yaml", "pip"):
        (folder / "modules" / name).mkdir(parents=True)
        (folder / "modules" / name / "__init__.py").write_text("raise RuntimeError('foreign')\n")
    (folder / "home/.config/pip").mkdir(parents=True)
    (folder / "home/.config/pip/pip.conf").write_text("[install]\nuser = true\n")
    return os.environ | {
        "PYTHONPATH": str(folder / "modules"),
        "PYTHONUSERBASE": str(folder / "base"),
        "PIP_PREFIX": "/nowhere",
        "PIP_REQUIRE_VIRTUALENV": "1",
        "HOME": str(folder / "home"),
    }


@pytest.fixture(scope="module")
def clone(tmp_path_factory, surroundings):
    """This project below a path with a space, with its environment."""
    folder = tmp_path_factory.mktemp("clone") / "my papers"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    code, output, errors = run(folder, surroundings, "make", f"PYTHON={sys.executable}", "tools")
    assert (code, errors) == (0, ""), errors
    assert output == (
        "Installing what requirements-dev.lock has into .venv; a new one takes minutes\n"
    )
    return folder


def test_it_has_the_packages_of_the_lock_and_runs(clone, surroundings):
    """By `make`, whatever the shell names; a program that is started by itself refuses it."""
    assert run(clone, surroundings, "make", "tools") == (0, "", "")
    code, output, errors = run(clone, surroundings, "make", FIGURE)
    assert (code, (clone / FIGURE).is_file()) == (0, True), output + errors
    words = [".venv/bin/python", "-I", "-m", "replication", "targets"]
    code, _, errors = run(clone, surroundings, *words)
    assert code == 1
    assert "has numpy, pip, yaml in the place of what is installed for" in errors


def test_what_another_tool_replaced_is_repaired(clone, surroundings):
    pip = [".venv/bin/python", "-I", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    plain = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    words = [*pip, "install", "--no-deps", "click<8.2", "tqdm<4.67"]
    assert run(clone, plain, *words)[0] == 0
    code, output, errors = run(clone, surroundings, "make", "environment")
    assert (code, errors) == (0, "")
    assert output.startswith("Installing what requirements.lock has into .venv")
    assert run(clone, surroundings, "make", "environment") == (0, "", "")


def test_without_a_network_pip_is_heard_and_the_environment_stays(clone, surroundings):
    """A package that is not there cannot come."""
    (gone,) = clone.glob(".venv/lib/python*/site-packages/tqdm-*.dist-info")
    kept = gone.rename(clone / "kept")
    offline = {**surroundings, "PIP_NO_INDEX": "1", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    code, _, errors = run(clone, offline, "make", "environment")
    assert code == 2
    assert "No matching distribution found for tqdm" in errors
    assert ".venv: is as it was; see the error above" in errors
    kept.rename(gone)
    assert run(clone, offline, "make", "environment") == (0, "", "")


def test_a_moved_folder_is_built_anew(clone, surroundings):
    moved = clone.parent / "moved"
    clone.rename(moved)
    try:
        code, output, errors = run(moved, surroundings, "make", "recover")
    finally:
        moved.rename(clone)
    assert code == 0, errors
    assert output.startswith(
        "Installing what requirements.lock has into .venv; a new one takes minutes\n"
    )
