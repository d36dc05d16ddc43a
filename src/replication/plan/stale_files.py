"""Check of results that Snakemake has no record of: are they made as the table of jobs says?

Snakemake's records are lost with its hidden folder, or on request; and a file that was copied over
a result is not the recorded one. Snakemake then compares times alone, and would show a figure of
other settings. Instead, the provenance in the file decides.
"""

import json
from collections.abc import Callable
from pathlib import Path

from replication.base.provenance import Provenance, digest
from replication.base.storage import PROVENANCE, split_record


def is_made_otherwise(path: Path, expected: Provenance) -> bool:
    """Say whether a file says that it was made otherwise than expected.

    A damaged file does not count; the program that reads it refuses it in a sentence.

    Args:
        path: the file, from the folder of the run; the checksum's file speaks for a figure's table.
        expected: provenance that the file should have.
    """
    try:
        return not _CHECKS[path.suffix](path, expected)
    except Exception:
        # A damaged byte can make any reader fail in any way.
        return False


def checksum_file(table: Path) -> Path:
    """Return the path of the file with the digest and the mark of a figure's table."""
    return Path("results/checksums", table.relative_to("figures")).with_suffix(".sha256")


def mark(made_by: Provenance) -> str:
    """Return the mark that pictures, and the checksums of tables, have of their provenance."""
    return f"made from {digest(made_by)}"


def _arrays_say(path: Path, expected: Provenance) -> bool:
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        return _is_same(str(archive[PROVENANCE]), expected)


def _table_says(path: Path, expected: Provenance) -> bool:
    import pyarrow.parquet as pq

    return _is_same(pq.read_metadata(path).metadata[PROVENANCE.encode()].decode(), expected)


def _verdict_says(path: Path, expected: Provenance) -> bool:
    found = json.loads(path.read_text(encoding="utf-8"))[PROVENANCE]
    return _is_same(json.dumps(found), {**expected, "settings": digest(expected["settings"])})


def _checksum_says(path: Path, expected: Provenance) -> bool:
    return _mark_says(checksum_file(path), expected)


def _mark_says(path: Path, expected: Provenance) -> bool:
    return mark(expected).encode() in path.read_bytes()


def _is_same(record: str, expected: Provenance) -> bool:
    found, _ = split_record(record)
    return digest(found) == digest(expected)


_CHECKS: dict[str, Callable[[Path, Provenance], bool]] = {
    ".npz": _arrays_say,
    ".parquet": _table_says,
    ".json": _verdict_says,
    ".csv": _checksum_says,
    ".pdf": _mark_says,
    ".svg": _mark_says,
    ".png": _mark_says,
}
