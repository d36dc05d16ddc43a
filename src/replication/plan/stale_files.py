"""Check of results: are they made as the table of jobs says?

What a file says of itself decides, and nothing else: not its time, and not what Snakemake recorded,
which may be of another file, or of code that was edited while the file was made.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from replication.base.code_digest import installed_versions, reach
from replication.base.provenance import Provenance, digest
from replication.base.stamp import read_stamp
from replication.base.storage import CONTENT, PROVENANCE, split_record

_HEADER, _ARRAY = 30, 10
"""Lengths of the fixed parts of the headers of a member of a ZIP file, and of an array."""
_END = b"PK\5\6" + bytes(18)
"""Last record of a ZIP file; the numbers in it differ."""
DRAWING = "replication.figures.style"
"""Module that every picture depends on, besides those that its program reaches."""


def in_short(made_by: Provenance) -> Provenance:
    """Return a provenance with digests in place of settings and code."""
    return made_by | {
        name: found if isinstance(found := made_by[name], str) else digest(found)
        for name in ("settings", "code")
    }


def planned_with(stage: str, program: str, printed: Iterable[str]) -> str:
    """Return a digest of all that may be edited while a file is made.

    Args:
        stage: stage of the file.
        program: full name of the module that makes the file.
        printed: digests of the tables as printed that the file is made from.
    """
    programs = (program, DRAWING) if stage == "figure" else (program,)
    return digest([*map(digest_of_code, programs), *printed])


@cache
def digest_of_code(program: str) -> str:
    """Return a digest of all code and packages that a program depends on."""
    reached = reach(program)
    return digest([reached.modules, installed_versions(reached.packages)])


def file_key(made_by: Provenance, planned: str) -> str:
    """Return the key of a file: a digest of its provenance and of what `planned_with` says."""
    return digest([in_short(made_by), planned])


def has_stamp(picture: Path, key: str) -> bool:
    """Say whether a picture is as it was made, with a key."""
    return read_stamp(picture.read_bytes(), picture.suffix) == key


def has_checksum(table: Path, kept: Path, mark: str) -> bool:
    """Say whether a figure's table is as it was made, with a mark; `kept` has its checksum."""
    content, made, *_ = kept.read_text(encoding="utf-8").splitlines()
    return made == mark and content == hashlib.sha256(table.read_bytes()).hexdigest()


def has_record(path: Path, expected: Provenance) -> bool:
    """Say whether an intermediate file has a provenance.

    Its content is left to the program that reads the file, except that of a verdict.

    Args:
        path: path of the file.
        expected: provenance that the file should have, in short.
    """
    found = in_short(read_record(path))
    # Files of earlier versions do not say what their tables as printed were.
    left_out = {"published"} - found.keys()
    return found == {name: expected[name] for name in expected if name not in left_out}


def with_remedy(why: str, path: str | Path) -> str:
    """Return why a file cannot be used, with the command that makes it anew.

    To delete the file does not suffice: Snakemake makes no file from which all is made already.
    """
    return f"{why.partition('; delete')[0]}; `snakemake --force {path}` makes it anew"


def read_record(path: Path) -> Provenance:
    """Return the provenance of an intermediate file, or of a figure's table as far as it is kept.

    Any error says that the file is damaged, or has none.
    """
    return _RECORDS[path.suffix](path)


def checksum_file(table: Path) -> Path:
    """Return the path of the file with the digest and the mark of a figure's table."""
    return Path("results/checksums", table.relative_to("figures")).with_suffix(".sha256")


def checksum_text(table: Path, made_by: Provenance) -> str:
    """Return the digest of a figure's table, the mark of its maker, and the settings."""
    settings = json.dumps({"settings": made_by["settings"], "seeds": []}, sort_keys=True)
    return f"{checksum(table)}{mark(made_by)}\n{settings}\n"


def checksum(path: Path) -> str:
    """Return the digest of a file's content, and a line end."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def mark(made_by: Provenance) -> str:
    """Return the mark that the checksums of tables have of their provenance."""
    return f"made from {digest(made_by)}"


def _record_of_arrays(path: Path) -> Provenance:
    """Return the provenance in an `.npz`: the first member, a compressed array of one text.

    `numpy.load` takes eight times as long, as it reads the names of all members, too.
    """
    with path.open("rb") as stream:
        lengths = stream.read(_HEADER)[-4:]
        name = stream.read(int.from_bytes(lengths[:2], "little"))
        stream.seek(int.from_bytes(lengths[2:], "little"), os.SEEK_CUR)
        if name != f"{PROVENANCE}.npy".encode():
            raise ValueError(f"{path} does not begin with its provenance")
        whole, array = zlib.decompressobj(-zlib.MAX_WBITS), b""
        while not whole.eof and (read := stream.read(1 << 16)):
            array += whole.decompress(read)
        stream.seek(-len(_END), os.SEEK_END)
        if not stream.read().startswith(_END[:4]):
            raise ValueError(f"{path} is truncated")
    text = array[_ARRAY + int.from_bytes(array[8:_ARRAY], "little") :]
    return split_record(text.decode("utf-32-le"))[0]


def _record_of_table(path: Path) -> Provenance:
    import pyarrow.parquet as pq

    return split_record(pq.read_metadata(path).metadata[PROVENANCE.encode()].decode())[0]


def _record_of_verdict(path: Path) -> Provenance:
    record = json.loads(path.read_bytes())
    found: Provenance = record.pop(PROVENANCE)
    if found.pop(CONTENT) != digest(record):
        raise ValueError(f"{path} was changed")
    return found


def _record_of_figure(path: Path) -> Provenance:
    found: Provenance = json.loads(checksum_file(path).read_text(encoding="utf-8").splitlines()[2])
    return found


_RECORDS: dict[str, Callable[[Path], Provenance]] = {
    ".npz": _record_of_arrays,
    ".parquet": _record_of_table,
    ".json": _record_of_verdict,
    ".csv": _record_of_figure,
}
