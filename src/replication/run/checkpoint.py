"""Checkpoints: the state of a long training, which goes on from there after an interruption."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.keys import KEY, Provenance
from replication.base.storage import read_arrays, write_arrays

INTERVAL = 120.0
"""Seconds between two checkpoints; the results do not depend on them."""


class Checkpoint:
    """The state of a run that is under way, beside the file that it will write."""

    def __init__(self, path: Path, provenance: Provenance) -> None:
        """Take the file of the state, and the provenance of the run."""
        self._path, self._provenance = path, provenance
        self._saved = time.monotonic()

    def read(self) -> dict[str, NDArray[Any]] | None:
        """Return the kept state; None if there is no usable one, which costs time but no result."""
        if not self._path.is_file():
            return None
        try:
            arrays = read_arrays(self._path, self._provenance[KEY])
        except InputError as error:
            click.echo(f"starting anew: {error.message}", err=True)
            return None
        click.echo(f"resuming from {self._path}", err=True)
        return arrays

    def is_due(self) -> bool:
        """Say whether enough time went by since the last checkpoint."""
        return time.monotonic() - self._saved > INTERVAL

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep a state of the run in the file.

        It lives for minutes, and compressing the state of a large network takes a minute.
        """
        write_arrays(self._path, arrays, self._provenance, compress=False)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """Remove the state of a run that is over."""
        self._path.unlink(missing_ok=True)
