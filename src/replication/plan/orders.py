"""Orders to a program: one JSON document, which says all about the files that a job makes."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from replication.base.provenance import FORMAT, Provenance, digest, digest_of_code
from replication.base.storage import update_text
from replication.base.strict import Strict
from replication.study.seeds import parse_seeds

Stage = Literal["data", "runs", "metrics", "table", "figure", "evidence", "verdict"]
Role = Literal["source", "published", Stage]
DOCUMENTS = Path(".snakemake/told")
"""Folder of the documents for programs, beside the rest that Snakemake keeps of a run."""
MADE_HERE = ("results/", "figures/")
"""Folders of what the workflow makes; other inputs are files of the project or of the user."""


class Input(Strict):
    """One input file."""

    path: str
    """Path of the file."""
    role: Role
    """Stage of the file; `source` or `published` if no program of this project made it."""
    key: str = ""
    """Key that the file must have; empty if no program of this project made it."""
    seeds: str = ""
    """Seeds that the file covers, such as 1-10,12."""
    settings: Any = None
    """Settings of the program that made metrics; none for other files."""
    program: str = ""
    """Program that made metrics; empty for other files."""
    gaps: list[str] = []
    """Gaps of the runs of metrics that evidence is measured on, see `Job.gaps`."""

    @property
    def file(self) -> Path:
        """Path of the file."""
        return Path(self.path)


class Order(Strict):
    """One file to be made, with everything that determines it."""

    output: str
    """Path of the file."""
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
    gaps: list[str] = []
    """Patterns of the names of a run's arrays that may hold values that are not finite."""
    inputs: list[Input] = []
    """Inputs, in the order in which the function takes them."""
    made_of: dict[str, Any]
    """Further parts of the file's provenance, its key among them."""
    planned_with: str
    """Digest of the code and of the files that people edit of which the file was planned."""
    checksum: str = ""
    """Path of the file with the checksum of a figure's table; empty for other files."""

    @property
    def file(self) -> Path:
        """Path of the file that is made."""
        return Path(self.output)

    @property
    def seed_numbers(self) -> list[int]:
        """Seeds that the file covers."""
        return parse_seeds(self.seeds) if self.seeds else []

    @property
    def key(self) -> str:
        """Key of the file."""
        return str(self.made_of["key"])

    def paths(self, role: Role) -> list[Path]:
        """Return the input files of one role."""
        return [item.file for item in self.inputs if item.role == role]


def made_by(order: Order, surroundings: dict[str, Any]) -> Provenance:
    """Return the provenance of the file of an order, made in some surroundings."""
    return {
        "program": order.program,
        "settings": order.settings,
        "seeds": order.seed_numbers,
        "format": FORMAT,
        **surroundings,
        **order.made_of,
    }


def planned_with(programs: tuple[str, ...], printed: Iterable[str]) -> str:
    """Return a digest of all that may be edited while a file is made: code, tables as printed."""
    return digest([digest_of_code(programs), *printed])


class Orders(Strict):
    """Files that one run of the program makes, one after the other."""

    orders: list[Order]
    """Orders, one for each file."""

    def to_json(self) -> str:
        """Return the document for the program."""
        return self.model_dump_json(exclude_defaults=True)


def file_digests(paths: Iterable[str | Path]) -> list[str]:
    """Return digests of files that a person edits."""
    return [hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12] for path in paths]


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
