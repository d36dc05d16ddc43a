"""Intermediate files: written whole or not at all, read only if they are what they claim."""

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from replication.errors import InputError
from replication.provenance import Provenance, Recipe, check

Arrays = Mapping[str, NDArray[Any]]

PROVENANCE = "provenance"
"""Name under which a file keeps what made it."""


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file in the same folder, then move it to `path`.

    An interruption at any moment leaves either the old file or the new one. A killed process can
    leave its hidden temporary file behind; nothing reads it.

    Raises:
        InputError: if the file system refuses (full, read-only, no such folder).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("xb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); make room or allow writing"
            " there, then run the same command again"
        ) from error


def write_arrays(path: Path, arrays: Arrays, provenance: Provenance) -> None:
    """Write named arrays and their provenance as a compressed `.npz`, the same bytes every time."""
    named = {PROVENANCE: np.array(json.dumps(provenance, sort_keys=True)), **arrays}
    write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **named))


def read_arrays(path: Path, recipe: Recipe, seeds: list[int] | None) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote.

    Args:
        path: of the file.
        recipe: how it should have been made.
        seeds: what it should cover; any, if left out.

    Raises:
        InputError: if the file is missing, truncated, not an `.npz`, or made otherwise.
    """
    return _read(path, lambda record: check(str(path), record, recipe, seeds))


def read_own_arrays(path: Path, provenance: Provenance) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote with the very same provenance; errors as in `read_arrays`."""

    def same(record: str) -> None:
        if record != json.dumps(provenance, sort_keys=True):
            raise InputError(
                f"{path}: made by another configuration or another version of the code"
            )

    return _read(path, same)


def _read(path: Path, accept: Callable[[str], None]) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            accept(str(archive[PROVENANCE]))
            return {name: archive[name] for name in archive.files if name != PROVENANCE}
    except InputError:
        raise
    except Exception as error:
        # A damaged byte can make NumPy's reading of a header fail in any way.
        raise unreadable(path, error) from error


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8."""
    write_atomically(path, lambda stream: stream.write(text.encode()))


def unreadable(path: Path, error: Exception) -> InputError:
    """The error of a file that is missing or cannot be understood."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file; run the workflow to make it")
    return InputError(
        f"{path}: truncated, damaged or not made by this project"
        f" ({type(error).__name__}: {error}); delete the file and run again"
    )
