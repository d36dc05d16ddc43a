"""Intermediate files: written whole or not at all, read only if they are what they claim."""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.errors import InputError
from transformer_dynamics.provenance import Provenance, check

if TYPE_CHECKING:
    import pandas as pd

Arrays = Mapping[str, NDArray[Any]]

_PROVENANCE = "provenance"


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file in the same folder, then move it to `path`.

    An interruption at any moment leaves either the old file or the new one. A killed process can
    leave its hidden temporary file behind; nothing reads it.

    Raises:
        InputError: if the file system refuses (full, read-only, no such folder).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); make room or allow writing"
            " there, then run the same command again"
        ) from error


def write_arrays(path: Path, arrays: Arrays, provenance: Provenance) -> None:
    """Write named arrays and their provenance as a compressed `.npz`, the same bytes every time."""
    named = {_PROVENANCE: np.array(json.dumps(provenance, sort_keys=True)), **arrays}
    write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **named))


def read_arrays(path: Path, expected: Provenance) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote.

    Raises:
        InputError: if the file is missing, truncated, not an `.npz`, or made by something else
            than `expected`.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            record = str(archive[_PROVENANCE])
            check(str(path), record, expected)
            return {name: archive[name] for name in archive.files if name != _PROVENANCE}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error


def write_table(path: Path, table: "pd.DataFrame", provenance: Provenance) -> None:
    """Write a table and its provenance as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(
        {_PROVENANCE: json.dumps(provenance, sort_keys=True)}
    )
    write_atomically(path, lambda stream: pq.write_table(plain, stream))


def read_table(path: Path, expected: Provenance) -> "pd.DataFrame":
    """Read what `write_table` wrote; errors as in `read_arrays`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        plain = pq.read_table(path)
        record = (plain.schema.metadata or {})[_PROVENANCE.encode()].decode()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error
    check(str(path), record, expected)
    table: pd.DataFrame = plain.to_pandas(ignore_metadata=True)
    return table


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8."""
    write_atomically(path, lambda stream: stream.write(text.encode()))


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    """Write the numbers of a figure, in full precision."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read_csv(path: Path, columns: Iterable[str]) -> "pd.DataFrame":
    """Read a table of numbers that has at least the given columns.

    Raises:
        InputError: if it cannot be read, is empty or lacks a column.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}: lacks the column(s) {', '.join(missing)}; delete the file and run again"
        )
    if table.empty:
        raise InputError(f"{path}: has no rows; delete the file and run again")
    return table


def _unreadable(path: Path, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file; run the workflow to make it")
    return InputError(
        f"{path}: truncated, damaged or not made by this project"
        f" ({type(error).__name__}: {error}); delete the file and run again"
    )


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
