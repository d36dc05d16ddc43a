"""Intermediate files: written whole or not at all, read only if their provenance is right."""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.provenance import Provenance, Recipe, check_provenance

Arrays = Mapping[str, NDArray[Any]]

PROVENANCE = "provenance"
"""Name under which a file keeps its provenance."""
CONTENT = "content"
"""Name under which a record keeps the digest of the content of its file."""


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


def write_arrays(
    path: Path, arrays: Arrays, provenance: Provenance, *, compress: bool = True
) -> None:
    """Write named arrays and their provenance as an `.npz`, the same bytes every time."""
    record = make_record(provenance, _digest(arrays))
    named = {PROVENANCE: np.array(record), **arrays}

    def write(stream: IO[bytes]) -> None:
        # Level 1 is ten times faster than `np.savez_compressed`, for a tenth more room.
        method = ZIP_DEFLATED if compress else ZIP_STORED
        with ZipFile(stream, "w", method, compresslevel=1) as archive:
            for name, values in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)

    write_atomically(path, write)


def read_arrays(path: Path, recipe: Recipe, seeds: list[int] | None) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote.

    Args:
        path: path of the file.
        recipe: recipe of the expected maker.
        seeds: seeds that the file should cover; any, if left out.

    Raises:
        InputError: if the file is missing, truncated, not an `.npz`, made otherwise, or changed
            since.
    """
    return _read_accepted(path, lambda found: check_provenance(str(path), found, recipe, seeds))


def read_own_arrays(path: Path, provenance: Provenance) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote with the very same provenance; errors as in `read_arrays`."""

    def refuse_other(found: Provenance) -> None:
        if found != json.loads(json.dumps(provenance)):
            raise InputError(
                f"{path}: made by another configuration or another version of the code"
            )

    return _read_accepted(path, refuse_other)


def _read_accepted(path: Path, accept: Callable[[Provenance], None]) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found, content = split_record(str(archive[PROVENANCE]))
            accept(found)
            arrays = {name: archive[name] for name in archive.files if name != PROVENANCE}
            refuse_changed(path, content, _digest(arrays))
            return arrays
    except InputError:
        raise
    except Exception as error:
        # A damaged byte can make NumPy's reading of a header fail in any way.
        raise unreadable_error(path, error) from error


def _digest(arrays: Arrays) -> str:
    """Return the digest of all names, types, shapes and values."""
    found = hashlib.sha256()
    for name, values in arrays.items():
        whole = np.asarray(values)
        found.update(f"{name} {whole.dtype.str} {whole.shape} ".encode())
        found.update(whole.tobytes())
    return found.hexdigest()


def make_record(provenance: Provenance, content: str) -> str:
    """Return the record of a file: its provenance, and the digest of its content."""
    return json.dumps({**provenance, CONTENT: content}, sort_keys=True)


def split_record(record: str) -> tuple[Provenance, str]:
    """Return the provenance of a record, and the digest of the content; empty if it has none."""
    found = json.loads(record)
    return found, found.pop(CONTENT, "")


def refuse_changed(path: Path, kept: str, found: str) -> None:
    """Refuse a file whose content does not have the digest in its record.

    Raises:
        InputError: says how to make the file again.
    """
    if kept != found:
        raise InputError(f"{path} was changed after it was made; delete it and run again")


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8."""
    write_atomically(path, lambda stream: stream.write(text.encode()))


def update_text(path: Path, text: str) -> None:
    """Write text as UTF-8, unless the file already holds it."""
    try:
        is_same = path.read_bytes() == text.encode()
    except OSError:
        is_same = False
    if not is_same:
        write_text(path, text)


def unreadable_error(path: Path, error: Exception) -> InputError:
    """Return the error of a file that is missing or cannot be understood."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file; run the workflow to make it")
    return InputError(
        f"{path}: truncated, damaged or not made by this project"
        f" ({type(error).__name__}: {error}); delete the file and run again"
    )
