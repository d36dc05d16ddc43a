"""The engine's wheel in a new repository, where no index and no git has the engine for others."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.version import Version

from replication.base.errors import InputError
from replication.new.lock import ENGINE_PACKAGE

FOLDER = "wheels"
"""Folder of a repository that has the wheel."""


def take_along(lock: str, place: Path) -> str:
    """Return a lock that names the engine's wheel in a folder of a repository; put it there.

    A lock that names no path of this machine stays as it is.

    Args:
        lock: text of the lock.
        place: folder of the repository.

    Raises:
        InputError: if the wheel cannot be built.
    """
    found = re.search(rf"^{ENGINE_PACKAGE} @ (file:.*)$", lock, re.MULTILINE)
    if not found:
        return lock
    source, folder = Path(unquote(urlsplit(found[1]).path)), place / FOLDER
    folder.mkdir()
    if source.is_dir():
        _build(source, folder)
    elif source.is_file():
        shutil.copy(source, folder)
    else:
        raise InputError(f"{source}: is not there any more; install the engine again, from a wheel")
    (wheel,) = folder.iterdir()
    return lock.replace(found[0], f"{FOLDER}/{wheel.name}")


def _build(source: Path, folder: Path) -> None:
    """Build the wheel from a copy: what an earlier build left would go into the wheel."""
    copy = folder / "copy"
    left = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(source, copy, ignore=left)
    # As engine/pyproject.toml asks for; without it pip gets one from where it gets packages.
    is_there = any(
        Version(each.version) >= Version("77") for each in distributions(name="setuptools")
    )
    alone = ["--no-build-isolation"] if is_there else []
    words = ["pip", "wheel", "--quiet", "--no-deps", *alone, "--wheel-dir", f"{folder}", f"{copy}"]
    done = subprocess.run(
        [sys.executable, "-I", "-m", *words], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise InputError(f"{source}: pip cannot build the engine's wheel: {done.stderr.strip()}")
    shutil.rmtree(copy)
