"""Make a git repository with one paper, in an empty folder."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from replication.base.errors import InputError
from replication.base.places import ENGINE
from replication.base.storage import write_text
from replication.plan.configuration import Configuration
from replication.study.studies import is_study_name

TEMPLATE = Path(__file__).parent / "template"
"""Template of copier."""
PROFILES = ("default", "slurm")
"""Profiles of the engine that a new repository has, to be adapted there."""
FOLDERS = frozenset({"src", "tests", "results", "figures", "docs"})
"""Names of folders that a repository has, or will have."""
ENGINE_PACKAGE = "replication-engine"
"""Name of the engine's package."""
CLONE = ENGINE.parents[1] / "engine"
"""Folder that builds the engine's package, where the engine is not installed as one."""


@click.command(help=__doc__)
@click.argument("name")
@click.option("--torch", is_flag=True, help="Train with PyTorch, with a device and checkpoints.")
def main(name: str, torch: bool) -> None:
    """Write the repository beside the folder's own files, then move it there: all or nothing."""
    folder = Path.cwd()
    _refuse_name(name)
    if others := sorted({*os.listdir(folder)} - {".git", ".venv"}):
        raise InputError(f"{folder}: is not empty, it has {others[0]}; start in an empty folder")
    try:
        with TemporaryDirectory(prefix=".replication-new-", dir=folder) as place:
            write_repository(Path(place), name, torch=torch)
            _run("git", "init", "--quiet", "--initial-branch=main", f"{folder}")
            for made in os.listdir(place):
                Path(place, made).rename(folder / made)
    except PackageNotFoundError as error:
        raise InputError(f"{error.name}: is not installed; install it with pip first") from error
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})") from error
    click.echo(
        f"{name} is in {folder}. Next: `make figures/fig1.pdf`, `make test`;"
        " then README.md says what to change."
    )


def write_repository(folder: Path, name: str, *, torch: bool) -> None:
    """Write all files of a repository into an empty folder."""
    write_text(folder / "requirements.lock", lock(folder, ["torch"] * torch))
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


def lock(folder: Path, others: list[str]) -> str:
    """Return a line for the engine, and for the version here of each package that is needed.

    These are all that the engine and some others need. The wheel of an engine that is of no index
    is put into the folder.
    """
    engine, needed = _engine(folder)
    names = packages_behind([*needed, *others])
    # A suffix such as +cpu fits one system.
    lines = {name: f"{name}=={version(name).partition('+')[0]}" for name in names}
    lines[ENGINE_PACKAGE] = engine
    return "".join(f"{lines[name]}\n" for name in sorted(lines))


def packages_behind(needs: list[str]) -> set[str]:
    """Return the names of packages that some requirements name, and of all that these need."""
    found: set[str] = set()
    waiting = [*needs]
    while waiting:
        need = Requirement(waiting.pop())
        name = canonicalize_name(need.name)
        if name not in found and (not need.marker or need.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += requires(name) or []
    return found


def _engine(folder: Path) -> tuple[str, list[str]]:
    """Return the engine's line and needs; put its wheel into `wheels` if it is of no index."""
    try:
        package = distribution(ENGINE_PACKAGE)
    except PackageNotFoundError:
        clone = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))
        return _wheel(f"{CLONE}", folder), clone["project"]["dependencies"]
    origin, needed = json.loads(package.read_text("direct_url.json") or "{}"), package.requires
    if not origin:
        return f"{ENGINE_PACKAGE}=={package.version}", needed or []
    source = origin["url"]
    if state := origin.get("vcs_info"):
        below = origin.get("subdirectory", "")
        source = f"{state['vcs']}+{source}@{state['commit_id']}#subdirectory={below}"
    return _wheel(source.removeprefix("file://"), folder), needed or []


def _wheel(source: str, folder: Path) -> str:
    """Put a package's wheel into a folder; return its path from there."""
    pip = (sys.executable, "-I", "-m", "pip", "wheel", "--quiet", "--no-deps")
    to = ("--wheel-dir", f"{folder / 'wheels'}")
    if Path(source).is_dir():
        # What an earlier build left in a clone would go into the wheel.
        left = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
        with TemporaryDirectory() as copy:
            shutil.copytree(source, copy, ignore=left, dirs_exist_ok=True)
            _run(*pip, "--no-build-isolation", *to, copy)
    else:
        _run(*pip, *to, source)
    return next((folder / "wheels").iterdir()).relative_to(folder).as_posix()


def _refuse_name(name: str) -> None:
    """Refuse a name that cannot be that of a study and a package, or means something else."""
    # YAML reads some words, such as null and yes, as values.
    is_word = re.fullmatch(r"[a-z][a-z0-9_]*", name) and yaml.safe_load(name) == name
    known = {*dir(Configuration), *Configuration.model_fields, *FOLDERS}
    if not (is_word and is_study_name(name)) or name in known or find_spec(name):
        raise InputError(
            f"{name}: cannot name a study and its package; take another word, of small letters,"
            " digits and underscores, that is not yet the name of something else"
        )


def _run(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError as error:
        raise InputError(f"{words[0]}: is not installed; install it first") from error
    if done.returncode:
        raise InputError(f"{' '.join(words)}: {done.stderr.strip()}")
