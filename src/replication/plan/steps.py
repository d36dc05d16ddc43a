"""Steps: one for each file that is computed, with everything that makes it.

The table of jobs has the steps of a plan; a program takes those that it carries out as JSON.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from replication.base.keys import FORMAT, KEY, Provenance, surroundings_of
from replication.base.storage import update_text
from replication.study.seeds import format_seeds

Stage = Literal[
    "data", "runs", "metrics", "table", "figure", "evidence", "verdict",
    "scorecard", "page", "index",
]  # fmt: skip
Role = Literal["source", "published", "text", "checksum", Stage]
"""Stage of an input, or the kind of a file that no step makes: a source of data, a table as
printed, a text that people edit; the checksum of a figure's table."""
EDITED: frozenset[Role] = frozenset({"published", "text"})
"""Roles of files that people edit."""
MADE_BY_NONE: frozenset[Role] = EDITED | {"source"}
"""Roles of files that no step makes."""
DOCUMENTS = Path(".snakemake/steps")
"""Folder of the documents for programs, beside the rest that Snakemake keeps of a run."""
MADE_HERE = ("results/", "figures/")
"""Folders of all that the workflow makes; other inputs are files of the project or of the user."""


@dataclass(frozen=True)
class Input:
    """A file that a step reads; parts with a default are known when the step is carried out."""

    path: str
    role: Role
    key: str = ""
    """Key that the file must have; of a file that no step makes, the digest of its content."""
    recipe: str = ""
    """Digest of the way in which the file was made, whatever its seeds."""
    seeds: tuple[int, ...] = ()
    settings: Any = None
    """Settings of the program that made metrics; none for other files."""
    program: str = ""
    """Program that made metrics; empty for other files."""

    @property
    def file(self) -> Path:
        """Path of the file."""
        return Path(self.path)


@dataclass(frozen=True)
class Step:
    """One file that is computed: its program, settings, seeds and inputs."""

    outputs: tuple[str, ...]
    """Path of the file, and of another file, or folder, that is written with it."""
    stage: Stage
    program: str
    """Full name of the module that makes the file."""
    function: str
    settings: Any
    """Settings of the function, as plain data."""
    digest: str
    """Digest of the settings."""
    seeds: tuple[int, ...] = ()
    inputs: tuple[Input, ...] = ()
    """Inputs, in the order in which the function takes them."""
    besides: tuple[str, ...] = ()
    """Modules besides the program whose code makes the file."""
    facts: Any = None
    """All else that the program is told, which is not in the key."""
    gaps: tuple[str, ...] = ()
    """Patterns of the names of a run's arrays that may hold values that are not finite."""
    batch: str = ""
    """Name of a job that makes several files of a stage; empty if the file has its own job."""
    memory: int = 1500
    """Memory in MB."""
    minutes: int = 30
    """Limit of the run time in minutes."""
    operations: float = 0.0
    """Floating-point operations, see `Job`."""
    device: str = "cpu"
    key: str = ""
    """Key of the file, once the step is ready to be carried out."""
    code: str = ""
    """Digest of the code that the step was planned with, likewise."""

    @property
    def file(self) -> Path:
        """Path of the file."""
        return Path(self.outputs[0])

    @property
    def beside(self) -> Path:
        """Path of the second file, or folder."""
        return Path(self.outputs[1])

    @property
    def programs(self) -> tuple[str, ...]:
        """Modules whose code makes the file."""
        return (self.program, *self.besides)

    @property
    def reads(self) -> tuple[str, ...]:
        """Paths of the inputs that other steps make."""
        return tuple(each.path for each in self.inputs if each.role not in MADE_BY_NONE)

    def of_role(self, *roles: Role) -> Iterator[Input]:
        """Yield the inputs of some roles."""
        return (each for each in self.inputs if each.role in roles)


STEPS = TypeAdapter(list[Step])
"""Reader and writer of the steps of one program, as JSON."""


def seeds_by_recipe(inputs: Iterable[Input]) -> dict[str, str]:
    """Return the seeds of all inputs that a step makes, such as 1-10,12, by recipe."""
    covered: dict[str, set[int]] = {}
    for each in inputs:
        if each.recipe:
            covered.setdefault(each.recipe, set()).update(each.seeds)
    return {recipe: format_seeds(sorted(seeds)) for recipe, seeds in covered.items()}


def provenance(step: Step) -> Provenance:
    """Return the provenance of the file of a step that is ready, as this process makes it."""
    given = {Path(each.path).name: each.key for each in step.of_role(*MADE_BY_NONE)}
    return {
        "program": step.program,
        "settings": step.settings,
        "seeds": [*step.seeds],
        "format": FORMAT,
        **surroundings_of(step.programs),
        "reads": seeds_by_recipe(step.inputs),
        **({"given": given} if given else {}),
        KEY: step.key,
    }


def digest_of_file(path: str | Path) -> str:
    """Return the digest of a file that a person edits."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]


def texts(paths: Iterable[str | Path], role: Role = "text") -> tuple[Input, ...]:
    """Return files that people edit as inputs."""
    return tuple(Input(str(path), role, digest_of_file(path)) for path in paths)


class StepsFile:
    """The steps of a program as the name of a file on its command line.

    The file is written when the command is put together, on whatever machine: the steps themselves
    would make the command, and what is printed when it fails, kilobytes long.
    """

    def __init__(self, steps: list[Step], folder: Path = DOCUMENTS) -> None:
        """Take the steps; the file's name follows from them."""
        self._document = STEPS.dump_json(steps, exclude_defaults=True).decode()
        self._path = folder / f"{hashlib.sha256(self._document.encode()).hexdigest()[:16]}.json"

    def __str__(self) -> str:
        """Write the file, and return its name."""
        update_text(self._path, self._document)
        return str(self._path)
