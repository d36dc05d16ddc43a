"""What a program is told: one JSON document, the same in its file and in the records."""

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
"""Where what programs are told is kept, beside the rest that Snakemake keeps of a run."""
Stage = Literal["data", "runs", "metrics", "table", "figure", "evidence", "verdict"]


class Input(Strict):
    """Successive input files of one kind."""

    role: Role
    """What they are to the program."""
    count: int
    """How many."""
    recipe: Recipe | None = None
    """What they must say of themselves; none if no program of this project made them."""
    seeds: list[str] | None = None
    """What each covers, such as 1-10,12; none if the names of the files say so."""
    settings: Any = None
    """Of metrics, what made them."""
    mark: str | None = None
    """Of a figure's table, what the file with its checksum must say of it."""


class Order(Strict):
    """All that makes a file, besides the paths of its inputs."""

    stage: Stage
    """What is made."""
    program: str
    """Full name of the module."""
    function: str
    """Its function."""
    settings: Any
    """Of that function."""
    seeds: str = ""
    """What the file covers, such as 1-10,12; empty if it depends on no seed."""
    inputs: list[Input] = []
    """What it reads, in the order of the paths."""
    gaps: list[str] = []
    """Of runs, patterns of the names of arrays that may hold what is not finite."""


def made_by(
    program: str, settings: Any, seeds: list[int], read: Iterable[tuple[Recipe, Sequence[int]]]
) -> Provenance:
    """Return what a file says of itself: what made it, and the seeds of each kind of input.

    However its inputs are cut into files, it says the same.

    Args:
        program: full name of the module.
        settings: its settings as plain JSON data.
        seeds: what the file covers.
        read: recipe and seeds of every file that was read.
    """
    covered: dict[str, set[int]] = {}
    for recipe, covers in read:
        covered.setdefault(recipe.digest, set()).update(covers)
    found = provenance(program, settings, seeds, list(covered))
    return found | {"covers": [format_seeds(sorted(each)) for each in covered.values()]}


class Orders(Strict):
    """What one run of the program makes, one after the other."""

    orders: list[Order]
    """One for each file."""

    def to_json(self) -> str:
        """What the program is told."""
        return self.model_dump_json(exclude_defaults=True)

    def to_record(self) -> str:
        """What decides the files' content: another choice of what is refused makes none anew."""
        return self.model_dump_json(
            exclude_defaults=True, exclude={"orders": {"__all__": {"gaps"}}}
        )


class DocumentFile:
    """A document on the command line of a program, as the name of its file.

    The file is written when the command is put together, on whatever machine: the document itself
    would make the command, and what is printed when it fails, kilobytes long.
    """

    def __init__(self, document: str, folder: Path = DOCUMENTS) -> None:
        """Of a document; the file's name follows from it."""
        self._document = document
        self._path = folder / f"{hashlib.sha256(document.encode()).hexdigest()[:16]}.json"

    def __str__(self) -> str:
        """The name of the file, which is there then."""
        update_text(self._path, self._document)
        return str(self._path)
