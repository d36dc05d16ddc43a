"""Make a git repository with one paper, in an empty folder."""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import yaml

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.new.engine_wheel import take_along
from replication.new.repository import repository
from replication.plan.configuration import Configuration
from replication.study.studies import is_study_name

FOLDERS = frozenset({"src", "tests", "results", "figures", "docs"})
"""Names of folders that a repository has, or will have."""
_BESIDE = ".replication-new-"
"""Beginning of the name of the folder in which a repository is written before it is moved."""


@click.command(help=__doc__)
@click.argument("name")
@click.option("--torch", is_flag=True, help="Train with PyTorch, with a device and checkpoints.")
def main(name: str, torch: bool) -> None:
    """Write the repository, all of it or nothing.

    Raises:
        InputError: if the name or the folder cannot be used, or git or a package is missing.
    """
    folder = Path.cwd()
    _refuse_name(name)
    is_cloned = _is_cloned(folder)
    files = repository(name, torch=torch)
    try:
        _write(folder, files, is_cloned)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})") from error
    click.echo(
        f"{name} is in {folder}. Next: `make figures/fig1.pdf`, `make test`;"
        " then README.md says what to change."
    )


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
    """Say whether a folder has a repository already; refuse one that has files.

    Raises:
        InputError: names what is there.
    """
    if others := sorted({*os.listdir(folder)} - {".git", ".venv"}):
        raise InputError(f"{folder}: is not empty, it has {others[0]}; start in an empty folder")
    git = folder / ".git"
    is_empty = git.is_dir() and not git.is_symlink() and not os.listdir(git)
    if is_empty or not os.path.lexists(git):
        return False
    if _git("--git-dir", str(git), "rev-parse").returncode:
        raise InputError(f"{git}: git cannot read this repository; mend it, or remove it")
    return True


def _write(folder: Path, files: dict[str, str], is_cloned: bool) -> None:
    """Write all files beside the folder's own, then move them into it."""
    with TemporaryDirectory(prefix=_BESIDE, dir=folder) as place:
        if not is_cloned:
            _initialize(Path(place))
        files["requirements.lock"] = take_along(files["requirements.lock"], Path(place))
        for path, text in files.items():
            write_text(Path(place, path), text)
        for made in os.listdir(place):
            Path(place, made).rename(folder / made)


def _initialize(folder: Path) -> None:
    """Make a git repository of a folder."""
    done = _git("init", "--quiet", "--initial-branch=main", str(folder))
    if done.returncode:
        raise InputError(f"git: cannot make a repository: {done.stderr.strip()}")


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", *words], capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError as error:
        raise InputError("git: is not installed; install it first") from error
