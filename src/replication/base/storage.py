"""Files of results: written whole or not at all, read only if they are as they were made.

Each says the key with which it was made: arrays, tables and verdicts in a record of their
provenance, pictures and pages in a stamp at their end, the CSV of a figure in a file apart.
"""

import hashlib
import io
import json
import os
import secrets
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.keys import (
    CONTENT,
    KEY,
    Provenance,
    digest,
    make_record,
    read_stamp,
    refuse_record,
    remedy,
    split_record,
    stamped,
)

if TYPE_CHECKING:
    import pandas as pd

Arrays = Mapping[str, NDArray[Any]]

PROVENANCE = "provenance"
"""Name under which a file keeps its provenance."""
BLANK = hashlib.sha256(b"a table's digest").hexdigest()
"""Placeholder of a table's digest while that is computed; no other text has its value."""
MISSING = ("", "nan", "NaN")
"""Texts of a CSV file that are no value."""
FOLDER_MARK = ".snakemake_timestamp"
"""Name of the file that Snakemake leaves in a folder that a rule makes."""
_LONGEST_RECORD = 1 << 20
"""Largest number of bytes of a compressed record."""
_END = b"PK\5\6" + bytes(18)
"""Last record of a ZIP file; the numbers in it differ."""


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file in the same folder, then move it to `path`.

    An interruption at any moment leaves either the old file or the new one. A killed process can
    leave its hidden temporary file behind; nothing reads it. Raises an `InputError` if the file
    system refuses (full, read-only, no such folder).
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


def write_bytes(path: Path, content: bytes) -> None:
    """Write the content of a file."""
    write_atomically(path, lambda stream: stream.write(content))


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8."""
    write_bytes(path, text.encode())


def update_text(path: Path, text: str) -> None:
    """Write text as UTF-8, unless the file already holds it."""
    if not path.is_file() or path.read_bytes() != text.encode():
        write_text(path, text)


def unreadable_error(path: Path, error: Exception) -> InputError:
    """Return the error of a file that is missing or cannot be understood."""
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file; run the workflow to make it")
    return InputError(
        f"{path}: truncated, damaged or not made by this project"
        f" ({type(error).__name__}: {error}); {remedy(path)}"
    )


def write_arrays(
    path: Path, arrays: Arrays, provenance: Provenance, *, compress: bool = True
) -> None:
    """Write named arrays and their provenance as an `.npz`, the same bytes every time."""
    named = {PROVENANCE: np.array(make_record(provenance, _digest_arrays(arrays))), **arrays}

    def write(stream: IO[bytes]) -> None:
        # Level 1 is ten times faster than `np.savez_compressed`, for a tenth more room.
        method = ZIP_DEFLATED if compress else ZIP_STORED
        with ZipFile(stream, "w", method, compresslevel=1) as archive:
            for name, values in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)

    write_atomically(path, write)


def read_arrays(path: Path, key: str) -> dict[str, NDArray[Any]]:
    """Return the arrays that `write_arrays` wrote.

    Raises an `InputError` if the file is missing, damaged, has another key, or was changed since it
    was made.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = dict(archive)
        found, content = split_record(str(arrays.pop(PROVENANCE)))
        is_unchanged = content == _digest_arrays(arrays)
    except Exception as error:
        # A damaged byte can make NumPy's reading of a header fail in any way.
        raise unreadable_error(path, error) from error
    refuse_record(path, found, key, is_unchanged)
    return arrays


def _digest_arrays(arrays: Arrays) -> str:
    """Return the digest of all names, types, shapes and values."""
    found = hashlib.sha256()
    for name, values in arrays.items():
        whole = np.asarray(values)
        found.update(f"{name} {whole.dtype.str} {whole.shape} ".encode())
        found.update(whole.tobytes())
    return found.hexdigest()


def _record_of_arrays(path: Path) -> Provenance:
    """Return the provenance in an `.npz`: the first member, a compressed array of one text.

    `numpy.load` takes eight times as long, as it reads the names of all members, too.
    """
    with path.open("rb") as stream:
        name, extra = struct.unpack("<26x2H", stream.read(30))
        if stream.read(name) != f"{PROVENANCE}.npy".encode():
            raise ValueError(f"{path} does not begin with its provenance")
        stream.seek(extra, os.SEEK_CUR)
        member = zlib.decompressobj(-zlib.MAX_WBITS).decompress(stream.read(_LONGEST_RECORD))
        stream.seek(-len(_END), os.SEEK_END)
        if not stream.read().startswith(_END[:4]):
            raise ValueError(f"{path} is truncated")
    return split_record(np.lib.format.read_array(io.BytesIO(member)).item())[0]


def write_table(
    path: Path,
    table: "pd.DataFrame",
    provenance: Provenance,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write a table, its provenance, and notes on it by name, as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    whole = io.BytesIO()
    with pq.ParquetWriter(whole, plain.schema) as writer:
        writer.write_table(plain)
        writer.add_key_value_metadata({**(notes or {}), PROVENANCE: make_record(provenance, BLANK)})
    blank = whole.getvalue()
    write_bytes(path, blank.replace(BLANK.encode(), hashlib.sha256(blank).hexdigest().encode()))


def read_table(path: Path, key: str) -> "pd.DataFrame":
    """Return the table that `write_table` wrote; errors as in `read_arrays`."""
    import pyarrow.parquet as pq

    try:
        whole = path.read_bytes()
        file = pq.ParquetFile(io.BytesIO(whole))
        found, content = split_record(file.metadata.metadata[PROVENANCE.encode()].decode())
        blank = whole.replace(content.encode(), BLANK.encode())
        is_unchanged = content == hashlib.sha256(blank).hexdigest()
        table: pd.DataFrame = file.read().to_pandas(ignore_metadata=True)
    except Exception as error:
        # A damaged byte of the footer can make the reading fail in any way.
        raise unreadable_error(path, error) from error
    refuse_record(path, found, key, is_unchanged)
    return table


def read_note(path: Path, name: str) -> str | None:
    """Return a note on a table; none if it has no such note."""
    import pyarrow.parquet as pq

    note = (pq.read_metadata(path).metadata or {}).get(name.encode())
    return note and str(note, "utf-8")


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    """Write the table of a figure in full precision."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read_csv(path: Path, columns: Iterable[str]) -> "pd.DataFrame":
    """Return a table that has at least the given columns.

    An `InputError` if it cannot be read, is empty or lacks a column.
    """
    import pandas as pd

    try:
        # A name such as NA is a text, not a missing number.
        table = pd.read_csv(path, keep_default_na=False, na_values=MISSING)
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error
    missing = [name for name in columns if name not in table.columns]
    wrong = f"lacks the column(s) {', '.join(missing)}" if missing else "has no rows"
    if missing or table.empty:
        raise InputError(f"{path}: {wrong}; correct it or make it again")
    return table


def write_json(path: Path, content: Mapping[str, Any], provenance: Provenance) -> None:
    """Write a small result with its provenance as JSON."""
    record = {**provenance, CONTENT: digest(content)}
    write_text(path, json.dumps({**content, PROVENANCE: record}, indent=1) + "\n")


def read_json(path: Path) -> tuple[dict[str, Any], Provenance]:
    """Return what `write_json` wrote, and its provenance; errors as in `read_arrays`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = content.pop(PROVENANCE)
        is_unchanged = found.pop(CONTENT, "") == digest(content)
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise unreadable_error(path, error) from error
    refuse_record(path, found, "", is_unchanged)
    return content, found


def write_stamped(path: Path, content: bytes, key: str) -> None:
    """Write a picture or a text with its key; of a page the files beside it count as content."""
    write_bytes(path, stamped(content, path.suffix, key, files_beside(path)))


def files_beside(page: Path) -> dict[str, Path]:
    """Return the paths of the files in the folder of a page, by their names; none of other files.

    The folder has the page's name without its ending.
    """
    found = page.with_suffix("").glob("*") if page.suffix == ".html" else ()
    return {path.name: path for path in found if path.name != FOLDER_MARK}


def key_in(files: Sequence[Path]) -> str | None:
    """Return the key of the file that comes first; None if it was changed since it was made.

    The checksum of a figure's table stands in a file behind it, and so does the table of a
    scorecard. Arrays and tables of results are checked when they are read. Any error says that the
    file is damaged.
    """
    path = files[0]
    if path.suffix == ".csv":
        content, record = _read_checksum(files[1])
        return str(record[KEY]) if f"{content}\n" == checksum(path) else None
    if path.suffix in _RECORDS:
        return str(_RECORDS[path.suffix](path)[KEY])
    key = read_stamp(path.read_bytes(), path.suffix, files_beside(path))
    if path.suffix == ".md":
        read_table(files[1], str(key))  # refuses one of another key, or that was changed
    return key


def read_record(path: Path) -> Provenance:
    """Return the provenance of a file, except of a picture; an error says that it is damaged."""
    return _RECORDS[path.suffix](path)


_RECORDS: dict[str, Callable[[Path], Provenance]] = {
    ".npz": _record_of_arrays,
    ".parquet": lambda path: split_record(read_note(path, PROVENANCE) or "")[0],
    ".json": lambda path: read_json(path)[1],
    ".csv": lambda path: _read_checksum(Path(checksum_file(path)))[1],
}


def checksum_file(table: str | Path) -> str:
    """Return the path of the file with the digest and the provenance of a figure's table."""
    below = Path(table).relative_to("figures").with_suffix(".sha256")
    return f"{Path('results/checksums', below)}"


def checksum_text(table: Path, made_by: Provenance) -> str:
    """Return the digest of a figure's table and, in a second line, its provenance."""
    return f"{checksum(table)}{make_record(made_by, '')}\n"


def checksum(path: Path) -> str:
    """Return the digest of a file's content, and a line end."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def refuse_changed_table(table: Path, kept: Path, key: str = "") -> None:
    """Refuse a figure's table that is changed since it was made, or has another key, in words.

    `kept` has the digest of the table's content; that of a reference has no key. Without a key any
    one counts.
    """
    content, record = _read_checksum(kept)
    if f"{content}\n" != checksum(table):
        raise InputError(f"{table} was changed after it was made; give the same command again")
    if key and record.get(KEY, key) != key:
        raise InputError(
            f"{table}: made by another configuration or another version of the code; give the"
            " same command again, with all rules allowed"
        )


def _read_checksum(path: Path) -> tuple[str, Provenance]:
    content, _, record = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    return content, json.loads(record) if record else {}
