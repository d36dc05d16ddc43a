"""Orders to a program: one JSON document, the same in its file and in the records."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from replication.base.provenance import Provenance, Recipe, provenance
from replication.base.storage import update_text
from replication.base.strict import Strict
from replication.study.seeds import format_seeds

Role = Literal["source", "data", "runs", "metrics", "table", "evidence", "verdict", "published"]
DOCUMENTS = Path(".snakemake/told")
"""Folder of the documents for programs, beside the rest that Snakemake keeps of a run."""
MADE_HERE = ("results/", "figures/")
"""Folders of what the workflow makes; other inputs are files of the project or of the user."""
Stage = Literal["data", "runs", "metrics", "table", "figure", "evidence", "verdict"]


class Input(Strict):
    """Successive input files of one kind."""

    role: Role
    """Use that the program has for the files."""
    count: int
    """Number of the files."""
    recipe: Recipe | None = None
    """Recipe that the files must name; none if no program of this project made them."""
    seeds: list[str] | None = None
    """Seeds of each file, such as 1-10,12; none if the names of the files say so."""
    settings: Any = None
    """Settings of the program that made metrics; none for other files."""
    mark: str | None = None
    """Mark that the checksum's file of a figure's table must have; none for other files."""
    gaps: list[str] = []
    """Gaps of the runs of metrics that evidence is measured on, see `Job.gaps`."""


class Order(Strict):
    """Everything that determines a file, except the paths of its inputs."""

    planned_with: str
    """Digest of the code, the packages and the tables as printed of which the file was planned."""

    stage: Stage
    """Kind of the file that is made."""
    program: str
    """Full name of the module."""
    function: str
    """Function of the module."""
    settings: Any
    """Settings of the function."""
    seeds: str = ""
    """Seeds that the file covers, such as 1-10,12; empty if it depends on no seed."""
    inputs: list[Input] = []
    """Inputs, in the order of the paths."""
    gaps: list[str] = []
    """Patterns of the names of a run's arrays that may hold values that are not finite."""


def made_by(
    program: str,
    settings: Any,
    seeds: list[int],
    read: Iterable[tuple[Recipe, Sequence[int]]],
    gaps: Iterable[str] = (),
    printed: Sequence[str] = (),
) -> Provenance:
    """Return a file's provenance: the program, the settings, and the seeds of each kind of input.

    The provenance does not depend on how inputs are cut into files.

    Args:
        program: full name of the module.
        settings: settings of the program as plain JSON data.
        seeds: seeds that the file covers.
        read: recipe and seeds of every file that was read.
        gaps: those of all inputs, see `Input.gaps`.
        printed: digests of the tables as printed that were read.
    """
    covered = seeds_by_recipe(read)
    found = provenance(program, settings, seeds, list(covered))
    return found | {"covers": [*covered.values()]} | gaps_and_printed(gaps, printed)


def seeds_by_recipe(read: Iterable[tuple[Recipe, Sequence[int]]]) -> dict[str, str]:
    """Return the seeds of all files of a recipe, such as 1-10,12, by the recipe's digest."""
    covered: dict[str, set[int]] = {}
    for recipe, covers in read:
        covered.setdefault(recipe.digest, set()).update(covers)
    return {name: format_seeds(sorted(each)) for name, each in covered.items()}


def gaps_and_printed(gaps: Iterable[str], printed: Sequence[str]) -> dict[str, list[str]]:
    """Return the parts of a provenance that few files have: see `made_by`."""
    found = {"gaps": sorted({*gaps}), "published": [*printed]}
    return {name: each for name, each in found.items() if each}


def file_digests(paths: Iterable[str | Path]) -> list[str]:
    """Return digests of files that a person edits."""
    return [hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] for path in paths]


class Orders(Strict):
    """Files that one run of the program makes, one after the other."""

    orders: list[Order]
    """Orders, one for each file."""

    def to_json(self) -> str:
        """Return the document for the program."""
        return self.model_dump_json(exclude_defaults=True)

    def to_record(self) -> str:
        """Return the part of the document that decides the files' content, for the records.

        Gaps of a file's own are not part of it: they change no number of the file. Those of metrics
        are, where they say which seeds count. The records have code, packages and tables as printed
        one by one.
        """
        return self.model_dump_json(
            exclude_defaults=True, exclude={"orders": {"__all__": {"gaps", "planned_with"}}}
        )


class DocumentFile:
    """A document on the command line of a program, as the name of its file.

    The file is written when the command is put together, on whatever machine: the document itself
    would make the command, and what is printed when it fails, kilobytes long.
    """

    def __init__(self, document: str, folder: Path = DOCUMENTS) -> None:
        """Take a document; the file's name follows from it."""
        self._document = document
        self._path = folder / f"{hashlib.sha256(document.encode()).hexdigest()[:16]}.json"

    def __str__(self) -> str:
        """Write the file, and return its name."""
        update_text(self._path, self._document)
        return str(self._path)
