"""Provenance of a file: the program, its settings, seeds and code, and the files that it read."""

import hashlib
import json
from functools import cached_property
from typing import Any

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.strict import Strict

Provenance = dict[str, Any]
FORMAT = 2
"""Number of the format of intermediate files.

The modules that write files are in no digest of a result; this number stands for them."""


class Recipe(Strict):
    """The maker of files of one kind, whatever their seeds; short enough for a command line."""

    program: str
    """Full name of the program's module."""
    settings: str
    """Digest of the program's settings."""
    code: str
    """Digest of all code that the program reaches."""
    packages: dict[str, str]
    """Versions of the numerical packages that the program reaches, by name."""
    reads: list[str]
    """Digests of the recipes of the files that the program reads, each once."""
    format: int = FORMAT
    """Number of the file's format."""

    @cached_property
    def digest(self) -> str:
        """Digest of the recipe, and so of all that the files are made from."""
        return digest(self.model_dump())


def recipe(program: str, settings: str, reads: list[str]) -> Recipe:
    """Return the recipe of a program of this installation.

    Args:
        program: full name of the module.
        settings: digest of its settings.
        reads: digests of the recipes of the files that it reads.
    """
    code, packages = _code_and_packages(program)
    return Recipe(
        program=program, settings=settings, code=digest(code), packages=packages, reads=reads
    )


def provenance(program: str, settings: Any, seeds: list[int], reads: list[str]) -> Provenance:
    """Return the provenance of a file that `program` makes in this installation.

    Args:
        program: full name of the module.
        settings: its settings as plain JSON data.
        seeds: the seeds that the file covers.
        reads: digests of the recipes of the files that were read.
    """
    code, packages = _code_and_packages(program)
    return {
        "program": program,
        "settings": settings,
        "seeds": seeds,
        "code": code,
        "packages": packages,
        "reads": reads,
        "format": FORMAT,
    }


def check_provenance(
    path: str, found: Provenance, expected: Recipe, seeds: list[int] | None
) -> None:
    """Refuse a file that was not made by the expected recipe for the expected seeds.

    Args:
        path: path of the file.
        found: the provenance in the file.
        expected: recipe of the expected maker.
        seeds: seeds that the file should cover; any, if left out.

    Raises:
        InputError: names the file and the differences.
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
    """Return the digest of plain JSON data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _code_and_packages(program: str) -> tuple[dict[str, str], dict[str, str]]:
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
