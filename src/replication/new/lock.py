"""The lock of a new repository: the versions installed here, and the engine as others can get it.

An engine that pip got from git or from an address is locked to this address. One that comes from a
file or a clone, which is on this machine alone, goes along as a wheel, in the folder `wheels`. Of
any other package the lock has the version: a path of this machine, such as conda notes, says
nothing elsewhere.
"""

import json
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from replication.base.errors import InputError
from replication.base.places import ENGINE

ENGINE_PACKAGE = "replication-engine"
"""Name of the engine's package."""
CLONE = ENGINE.parents[1] / "engine"
"""Folder that builds the engine's package, where the engine is not installed as one."""


class Package(NamedTuple):
    """A package that is here."""

    version: str
    requires: list[str]
    origin: dict[str, Any]
    """Address from which pip got the package, as in `direct_url.json`; empty from an index."""


def lock(names: list[str], folder: Path) -> str:
    """Return a line per package: those that are named, and all that they need.

    Args:
        names: names of packages.
        folder: folder of the repository, into which the engine's wheel is put if need be.

    Raises:
        InputError: if a package is not installed, or the engine's wheel cannot be built.
    """
    lines: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset()) for name in names]
    while waiting:
        if (wanted := waiting.pop()) in seen:
            continue
        seen.add(wanted)
        name, extras = wanted
        found = _package(name)
        # A suffix such as +cpu fits one system.
        lines[name] = f"{name}=={found.version.partition('+')[0]}"
        if name == ENGINE_PACKAGE and found.origin:
            lines[name] = _engine_line(found.origin, folder)
        for need in map(Requirement, found.requires):
            marker = need.marker
            if not marker or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append((canonicalize_name(need.name), frozenset(need.extras)))
    return "".join(f"{lines[name]}\n" for name in sorted(lines))


def _package(name: str) -> Package:
    """Return a package that is installed, or the engine as a clone of its repository has it."""
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        file = CLONE / "pyproject.toml"
        if name != ENGINE_PACKAGE or not file.is_file():
            raise InputError(f"{name}: is not installed; install it with pip first") from error
        clone = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        return Package(clone["version"], clone["dependencies"], {"url": CLONE.as_uri()})
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    return Package(found.version, found.requires or [], origin)


def _engine_line(origin: dict[str, Any], folder: Path) -> str:
    """Return the line of an engine that is of no index; put its wheel into a folder if need be."""
    address, version = origin["url"], origin.get("vcs_info")
    if version:
        address = f"{version['vcs']}+{address}@{version['commit_id']}"
    elif address.startswith("file:"):
        wheel = _put_wheel(Path(unquote(urlsplit(address).path)), folder / "wheels")
        return wheel.relative_to(folder).as_posix()
    below = f"#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else ""
    return f"{ENGINE_PACKAGE} @ {address}{below}"


def _put_wheel(source: Path, folder: Path) -> Path:
    """Return the engine's wheel in a folder, copied there, or built of a clone."""
    folder.mkdir()
    if source.is_dir():
        _build(source, folder)
    elif source.is_file():
        shutil.copy(source, folder)
    else:
        raise InputError(f"{source}: is not there any more; install the engine again, from a wheel")
    return next(folder.iterdir())


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
