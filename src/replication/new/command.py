"""Make a git repository with one paper, in an empty folder."""

import os
import platform
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import yaml

from replication.base.errors import InputError
from replication.base.places import ENGINE
from replication.base.storage import write_text
from replication.new.lock import ENGINE_PACKAGE, lock
from replication.plan.configuration import Configuration
from replication.study.studies import is_study_name

TEMPLATE = Path(__file__).parent / "template"
"""Template of copier."""
PROFILES = ("default", "slurm")
"""Profiles of the engine that a new repository has, to be adapted there."""
FOLDERS = frozenset({"src", "tests", "results", "figures", "docs"})
"""Names of folders that a repository has, or will have."""


@click.command(help=__doc__)
@click.argument("name")
@click.option("--torch", is_flag=True, help="Train with PyTorch, with a device and checkpoints.")
def main(name: str, torch: bool) -> None:
    """Write the repository beside the folder's own files, then move it there: all or nothing.

    Raises:
        InputError: if the name or the folder cannot be used, or git or a package is missing.
    """
    folder = Path.cwd()
    _refuse_name(name)
    is_cloned = _is_cloned(folder)
    try:
        with TemporaryDirectory(prefix=".replication-new-", dir=folder) as place:
            write_repository(Path(place), name, torch=torch)
            if not is_cloned:
                _initialize(place)
            for made in os.listdir(place):
                Path(place, made).rename(folder / made)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})") from error
    click.echo(
        f"{name} is in {folder}. Next: `make figures/fig1.pdf`, `make test`;"
        " then README.md says what to change."
    )


def write_repository(folder: Path, name: str, *, torch: bool) -> None:
    """Write all files of a repository into an empty folder.

    Raises:
        InputError: if a package that the lock needs is not installed.
    """
    write_text(folder / "requirements.lock", lock([ENGINE_PACKAGE, *["torch"] * torch], folder))
    render(folder, name, torch=torch)
    shutil.copy(Path(__file__).with_name("environment.py"), folder)
    for profile in PROFILES:
        path = f"profiles/{profile}/config.yaml"
        text = (ENGINE / path).read_text(encoding="utf-8")
        write_text(folder / path, text.replace("transformer-dynamics", name))


def render(folder: Path, name: str, *, torch: bool) -> None:
    """Write the files of the template into a folder."""
    from copier import run_copy  # takes a second

    python = ".".join(platform.python_version_tuple()[:2])
    data = {"name": name, "torch": torch, "python": python}
    run_copy(str(TEMPLATE), folder, data, quiet=True)


def _refuse_name(name: str) -> None:
    """Refuse a name that cannot be that of a study, or is that of a package."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(
            f"{name}: is no name of a package; begin with a letter, and write small letters, digits"
            " and underscores"
        )
    known = {*dir(Configuration), *Configuration.model_fields, *FOLDERS}
    # YAML reads some words, such as null and yes, as values.
    is_value = yaml.safe_load(name) != name
    if is_value or not is_study_name(name) or name in known or find_spec(name):
        raise InputError(f"{name}: is already the name of something else; choose another name")


def _is_cloned(folder: Path) -> bool:
    """Say whether a folder has a repository already; refuse one that has files, and name one."""
    if others := sorted({*os.listdir(folder)} - {".git", ".venv"}):
        raise InputError(f"{folder}: is not empty, it has {others[0]}; start in an empty folder")
    git = folder / ".git"
    is_empty = git.is_dir() and not git.is_symlink() and not os.listdir(git)
    if is_empty or not os.path.lexists(git):
        return False
    if _git("--git-dir", str(git), "rev-parse").returncode:
        raise InputError(f"{git}: git cannot read this repository; mend it, or remove it")
    return True


def _initialize(folder: str) -> None:
    """Make a git repository of a folder."""
    done = _git("init", "--quiet", "--initial-branch=main", folder)
    if done.returncode:
        raise InputError(f"git: cannot make a repository: {done.stderr.strip()}")


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", *words], capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError as error:
        raise InputError("git: is not installed; install it first") from error
