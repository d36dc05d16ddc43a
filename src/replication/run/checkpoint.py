"""What a long training keeps, so that it goes on where it was interrupted."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.provenance import Provenance
from replication.base.storage import read_own_arrays, write_arrays

SECONDS = 120.0
"""Time between two checkpoints; the results do not depend on it."""


class Checkpoint:
    """The state of a run that is under way, beside the file that it will write."""

    def __init__(self, path: Path, provenance: Provenance) -> None:
        """Of a run that will write a file with this provenance."""
        self._path, self._provenance = path, provenance
        self._saved = time.monotonic()

    def read(self) -> dict[str, NDArray[Any]] | None:
        """What was kept; None where nothing usable was left, which costs time but no result."""
        if not self._path.is_file():
            return None
        try:
            arrays = read_own_arrays(self._path, self._provenance)
        except InputError as error:
            click.echo(f"starting anew: {error.message}", err=True)
            return None
        click.echo(f"resuming from {self._path}", err=True)
        return arrays

    def is_due(self) -> bool:
        """Whether enough time went by since the last one."""
        return time.monotonic() - self._saved > SECONDS

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep a state."""
        write_arrays(self._path, arrays, self._provenance)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """The run is over."""
        self._path.unlink(missing_ok=True)
