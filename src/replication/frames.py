"""Intermediate tables and tables of figures, with the same care as in `storage`."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from replication.errors import InputError
from replication.provenance import Provenance, Recipe, check
from replication.storage import PROVENANCE, unreadable, write_atomically, write_text


def write_table(path: Path, table: pd.DataFrame, provenance: Provenance) -> None:
    """Write a table and its provenance as Parquet."""
    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(
        {PROVENANCE: json.dumps(provenance, sort_keys=True)}
    )
    write_atomically(path, lambda stream: pq.write_table(plain, stream))


def read_table(path: Path, recipe: Recipe, seeds: list[int] | None) -> pd.DataFrame:
    """Read what `write_table` wrote; arguments and errors as in `read_arrays`."""
    try:
        plain = pq.read_table(path)
        record = (plain.schema.metadata or {})[PROVENANCE.encode()].decode()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    check(str(path), record, recipe, seeds)
    table: pd.DataFrame = plain.to_pandas(ignore_metadata=True)
    return table


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write the numbers of a figure, in full precision."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read_csv(path: Path, columns: Iterable[str]) -> pd.DataFrame:
    """Read a table that has at least the given columns.

    Raises:
        InputError: if it cannot be read, is empty or lacks a column.
    """
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise InputError(
            f"{path}: lacks the column(s) {', '.join(missing)}; correct it or make it again"
        )
    if table.empty:
        raise InputError(f"{path}: has no rows; correct it or make it again")
    return table
