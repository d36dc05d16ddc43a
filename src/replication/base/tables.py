"""Intermediate tables and tables of figures, with the same care as in `storage`."""

import hashlib
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from replication.base.errors import InputError
from replication.base.provenance import Provenance
from replication.base.storage import (
    PROVENANCE,
    make_record,
    refuse_changed,
    refuse_other_key,
    split_record,
    unreadable_error,
    write_atomically,
    write_text,
)

BLANK = hashlib.sha256(b"a table's digest").hexdigest()
"""Placeholder of a table's digest while that is computed; no other text has its value."""


def write_table(
    path: Path, table: pd.DataFrame, provenance: Provenance, notes: Mapping[str, str] | None = None
) -> None:
    """Write a table, its provenance, and notes on it by name, as Parquet."""
    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    whole = io.BytesIO()
    with pq.ParquetWriter(whole, plain.schema) as writer:
        writer.write_table(plain)
        writer.add_key_value_metadata({**(notes or {}), PROVENANCE: make_record(provenance, BLANK)})
    blank = whole.getvalue()
    marked = blank.replace(BLANK.encode(), _sha256(blank).encode())
    write_atomically(path, lambda stream: stream.write(marked))


def read_table(path: Path, key: str) -> pd.DataFrame:
    """Return the table that `write_table` wrote; errors as in `read_arrays`."""
    try:
        whole = path.read_bytes()
        file = pq.ParquetFile(io.BytesIO(whole))
        found, content = split_record(_metadata(file.metadata)[PROVENANCE.encode()].decode())
        refuse_other_key(path, found, key)
        refuse_changed(path, content, _sha256(whole.replace(content.encode(), BLANK.encode())))
        table: pd.DataFrame = file.read().to_pandas(ignore_metadata=True)
    except InputError:
        raise
    except Exception as error:
        # A damaged byte of the footer can make the reading fail in any way.
        raise unreadable_error(path, error) from error
    return table


def read_record_of_table(path: Path) -> Provenance:
    """Return the provenance of a table; any error says that the file is damaged."""
    return split_record(_metadata(pq.read_metadata(path))[PROVENANCE.encode()].decode())[0]


def read_unchanged_record(path: Path) -> Provenance:
    """Return the provenance of a table; any error says that the file is damaged or was changed."""
    found, content = split_record(_metadata(pq.read_metadata(path))[PROVENANCE.encode()].decode())
    refuse_changed(
        path, content, _sha256(path.read_bytes().replace(content.encode(), BLANK.encode()))
    )
    return found


def read_note(path: Path, name: str) -> str | None:
    """Return a note on a table that `read_table` has read; none if it has no such note."""
    found = _metadata(pq.read_metadata(path)).get(name.encode())
    return None if found is None else found.decode()


def _metadata(found: Any) -> dict[bytes, bytes]:
    return found.metadata or {}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


MISSING = ("", "nan", "NaN")
"""Texts of a CSV file that are no value."""


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write the table of a figure in full precision."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read_csv(path: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a table that has at least the given columns.

    Raises:
        InputError: if it cannot be read, is empty or lacks a column.
    """
    try:
        # A name such as NA is a text, not a missing number.
        table = pd.read_csv(path, keep_default_na=False, na_values=MISSING)
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}: lacks the column(s) {', '.join(missing)}; correct it or make it again"
        )
    if table.empty:
        raise InputError(f"{path}: has no rows; correct it or make it again")
    return table
