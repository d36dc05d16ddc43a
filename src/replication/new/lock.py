"""Print the versions installed here of packages, and of all packages that they need.

A package that was installed from an address of the network is locked to this address, and the
engine to the file or clone that it came from. Any other path of this machine says nothing
elsewhere: of a package from there, such as conda's, the lock has the version alone.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import click
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from replication.base.errors import InputError
from replication.base.places import ENGINE

ENGINE_PACKAGE = "replication-engine"
"""Name of the engine's package."""
CLONE = ENGINE.parents[1] / "engine"
"""Folder that builds the engine's package, where the engine is not installed as one."""


class Package(NamedTuple):
    """A package that is here."""

    line: str
    """Line of the lock that installs it."""
    version: str
    """Version of the package."""
    requires: tuple[str, ...]
    """Requirements of the package, those of its extras with a marker."""


def lock(names: Iterable[str], *, needs_alone: bool = False) -> str:
    """Return a line per package: those that are named, and all that they need.

    Args:
        names: requirements, such as `torch` or `package[extra]`.
        needs_alone: whether the packages that are named get no line of their own.

    Raises:
        InputError: if a package is not installed, or in another version.
    """
    lines: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [*map(_requirement, names)]
    left_out = {canonicalize_name(each.name) for each in waiting if needs_alone}
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) not in seen:
            seen.add((name, extras))
            found = _package(name)
            if not wanted.specifier.contains(found.version, prereleases=True):
                raise InputError(
                    f"{wanted}: version {found.version} is installed; install the wanted one"
                )
            lines[name] = found.line
            waiting.extend(_requirements(found, extras))
    return "".join(f"{lines[name]}\n" for name in sorted(lines.keys() - left_out))


def _requirement(text: str) -> Requirement:
    """Return a requirement that a user names."""
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise InputError(f"{text!r}: is no name of a package, such as torch") from error


def _package(name: str) -> Package:
    """Return a package that is installed, or the engine as a clone of its repository has it."""
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        if (clone := _clone()) and clone["name"] == name:
            needs = tuple(clone["dependencies"])
            return Package(f"{name} @ {CLONE.as_uri()}", clone["version"], needs)
        raise InputError(f"{name}: is not installed; install it with pip first") from error
    return Package(_line(name, found), found.version, tuple(found.requires or ()))


def _clone() -> dict[str, Any]:
    """Return what the engine's repository says of its package; nothing if there is no clone."""
    file = CLONE / "pyproject.toml"
    if not file.is_file():
        return {}
    project: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    return project


def _requirements(found: Package, extras: frozenset[str]) -> Iterator[Requirement]:
    """Yield the packages that a package needs here, with some of its extras."""
    for requirement in map(Requirement, found.requires):
        marker = requirement.marker
        if not marker or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield requirement


def _line(name: str, found: Distribution) -> str:
    """Return the line of one package; a suffix such as `+cpu` is cut off, as it fits one system."""
    pinned = f"{name}=={found.version.split('+')[0]}"
    if not (text := found.read_text("direct_url.json")):
        return pinned
    origin = json.loads(text)
    version, folder = origin.get("vcs_info"), origin.get("subdirectory")
    address = (
        f"{version['vcs']}+{origin['url']}@{version['commit_id']}" if version else origin["url"]
    )
    if address.startswith("file:") and name != ENGINE_PACKAGE:
        click.echo(f"{name}: is from {address}, which is here alone; locked is {pinned}", err=True)
        return pinned
    file = Path(unquote(urlsplit(address).path))
    if address.startswith("file:") and file.is_relative_to(Path.cwd()):
        return file.relative_to(Path.cwd()).as_posix()
    return f"{name} @ {address}{f'#subdirectory={folder}' if folder else ''}"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
@click.option("--needs", is_flag=True, help="Only what these packages need, not themselves.")
def main(names: tuple[str, ...], *, needs: bool) -> None:
    """Print the lock."""
    click.echo(lock(names, needs_alone=needs), nl=False)
