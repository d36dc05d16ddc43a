"""Keys in files: the key that a file was made with, which alone says whether the file is current.

Neither its time counts nor a record of Snakemake's, which may be of another file.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from replication.base.errors import InputError
from replication.base.provenance import KEY, Provenance, digest
from replication.base.stamp import files_beside, read_stamp
from replication.base.storage import CONTENT, PROVENANCE, make_record, read_record_of_arrays


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
    if path.suffix == ".md":
        keys = {*map(key_in_scorecard, files)}
        return keys.pop() if len(keys) == 1 else None
    beside = files_beside(path) if path.suffix == ".html" else None
    return read_stamp(path.read_bytes(), path.suffix, beside)


def key_in_scorecard(path: Path) -> str | None:
    """Return the key of the text, or of the table, of a scorecard; see `key_in`."""
    if path.suffix == ".md":
        return read_stamp(path.read_bytes(), path.suffix)
    from replication.base.tables import read_unchanged_record

    return str(read_unchanged_record(path)[KEY])


def read_record(path: Path) -> Provenance:
    """Return the provenance of a file, except of a picture; an error says that it is damaged."""
    return _RECORDS[path.suffix](path)


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


def _record_of_table(path: Path) -> Provenance:
    from replication.base.tables import read_record_of_table

    return read_record_of_table(path)


def _record_of_verdict(path: Path) -> Provenance:
    record = json.loads(path.read_bytes())
    found: Provenance = record.pop(PROVENANCE)
    if found.pop(CONTENT) != digest(record):
        raise ValueError(f"{path} was changed")
    return found


_RECORDS: dict[str, Callable[[Path], Provenance]] = {
    ".npz": read_record_of_arrays,
    ".parquet": _record_of_table,
    ".json": _record_of_verdict,
    ".csv": lambda path: _read_checksum(Path(checksum_file(path)))[1],
}
