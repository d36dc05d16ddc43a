"""What made a file: the program, its settings, its seeds, its code, and what it read."""

import hashlib
import json
from functools import cached_property
from typing import Any

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.strict import Strict

Provenance = dict[str, Any]
FORMAT = 2
"""Of intermediate files; the modules that write them count for no result, this number does."""


class Recipe(Strict):
    """How files of one kind are made, whatever their seeds; short enough for a command line."""

    program: str
    """Full name of the module."""
    settings: str
    """Digest of its settings."""
    code: str
    """Digest of all code that it reaches."""
    packages: dict[str, str]
    """Version by name of the numerical packages that it reaches."""
    reads: list[str]
    """Digests of the recipes of the files that it reads, each once."""
    format: int = FORMAT
    """Of the file."""

    @cached_property
    def digest(self) -> str:
        """Of all of it, and so of all that the files are made from."""
        return digest(self.model_dump())


def recipe(program: str, settings: str, reads: list[str]) -> Recipe:
    """The recipe of a program of this installation.

    Args:
        program: full name of the module.
        settings: digest of its settings.
        reads: digests of the recipes of what it reads.
    """
    code, packages = _made_by(program)
    return Recipe(
        program=program, settings=settings, code=digest(code), packages=packages, reads=reads
    )


def provenance(program: str, settings: Any, seeds: list[int], reads: list[str]) -> Provenance:
    """Describe a file that `program` makes in this installation.

    Args:
        program: full name of the module.
        settings: its settings as plain JSON data.
        seeds: the seeds that the file covers.
        reads: digests of the recipes of the files that were read.
    """
    code, packages = _made_by(program)
    return {
        "program": program,
        "settings": settings,
        "seeds": seeds,
        "code": code,
        "packages": packages,
        "reads": reads,
        "format": FORMAT,
    }


def check(path: str, found: Provenance, expected: Recipe, seeds: list[int] | None) -> None:
    """Refuse a file that was not made by the expected recipe for the expected seeds.

    Args:
        path: of the file.
        found: the provenance that stands in it.
        expected: how it should have been made.
        seeds: what it should cover; not compared if left out.

    Raises:
        InputError: names the file and what differs.
    """
    differences = list(_differences(found, expected))
    if seeds is not None and found.get("seeds") != seeds:
        differences.append(f"seeds are {found.get('seeds')}, expected {seeds}")
    if differences:
        raise InputError(
            f"{path}: made by another configuration or another version of the code ("
            + "; ".join(differences[:3])
            + "); delete the file and run again"
        )


def digest(data: Any) -> str:
    """Digest of plain JSON data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _made_by(program: str) -> tuple[dict[str, str], dict[str, str]]:
    reached = reach(program)
    return reached.modules, installed_versions(reached.packages)


def _differences(found: Provenance, expected: Recipe) -> Any:
    for name in ("program", "packages", "format"):
        if found.get(name) != getattr(expected, name):
            yield f"{name}: {found.get(name)!r}, expected {getattr(expected, name)!r}"
    if digest(found.get("settings")) != expected.settings:
        yield "other settings"
    if digest(found.get("code")) != expected.code:
        now = reach(expected.program).modules
        before = found.get("code") or {}
        changed = [name for name in now | before if now.get(name) != before.get(name)]
        yield f"other code of {', '.join(changed)}"
    if found.get("reads") != expected.reads:
        yield "what it was made from was made otherwise"
