"""What a program is told: one JSON document, the same on the command line and in the records."""

from typing import Any, Literal

from replication.provenance import Recipe
from replication.strict import Strict

Role = Literal["source", "data", "runs", "metrics", "table", "evidence", "verdict", "published"]
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


class Orders(Strict):
    """What one run of the program makes, one after the other."""

    orders: list[Order]
    """One for each file."""

    def to_json(self) -> str:
        """What the program is told."""
        return self.model_dump_json(exclude_defaults=True)
