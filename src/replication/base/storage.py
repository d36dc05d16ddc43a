"""Intermediate files: written whole or not at all, read only if their key is right."""

import hashlib
import json
import os
import secrets
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.provenance import KEY, Provenance

Arrays = Mapping[str, NDArray[Any]]

PROVENANCE = "provenance"
"""Name under which a file keeps its provenance."""
CONTENT = "content"
"""Name under which a record keeps the digest of the content of its file."""
_HEADER, _ARRAY = 30, 10
"""Lengths of the fixed parts of the headers of a member of a ZIP file, and of an array."""
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


def write_arrays(
    path: Path, arrays: Arrays, provenance: Provenance, *, compress: bool = True
) -> None:
    """Write named arrays and their provenance as an `.npz`, the same bytes every time."""
    named = {PROVENANCE: np.array(make_record(provenance, _digest(arrays))), **arrays}

    def write(stream: IO[bytes]) -> None:
        # Level 1 is ten times faster than `np.savez_compressed`, for a tenth more room.
        method = ZIP_DEFLATED if compress else ZIP_STORED
        with ZipFile(stream, "w", method, compresslevel=1) as archive:
            for name, values in named.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(values), allow_pickle=False)

    write_atomically(path, write)


def read_arrays(path: Path, key: str) -> dict[str, NDArray[Any]]:
    """Read what `write_arrays` wrote.

    Raises an `InputError` if the file is missing, truncated, not an `.npz`, has another key, or was
    changed since it was made.
    """
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            found, content = split_record(str(archive[PROVENANCE]))
            refuse_other_key(path, found, key)
            arrays = {name: archive[name] for name in archive.files if name != PROVENANCE}
            refuse_changed(path, content, _digest(arrays))
            return arrays
    except InputError:
        raise
    except Exception as error:
        # A damaged byte can make NumPy's reading of a header fail in any way.
        raise unreadable_error(path, error) from error


def read_record_of_arrays(path: Path) -> Provenance:
    """Return the provenance in an `.npz`: the first member, a compressed array of one text.

    `numpy.load` takes eight times as long, as it reads the names of all members, too. Any error
    says that the file is damaged.
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
    """Return the provenance of a record, and the digest of the content."""
    found = json.loads(record)
    return found, found.pop(CONTENT)


def remedy(path: str | Path) -> str:
    """Return the end of a sentence on a file that cannot be used: the command that helps.

    To delete the file does not suffice: Snakemake makes no file from which all is made already.
    """
    return f"`snakemake --force {path}` makes it anew"


def refuse_other_key(path: Path, found: Provenance, key: str) -> None:
    """Refuse a file that has another key than the plan, with an `InputError`."""
    if found.get(KEY) != key:
        raise InputError(
            f"{path}: made by another configuration or another version of the code; {remedy(path)}"
        )


def refuse_changed(path: Path, kept: str, found: str) -> None:
    """Refuse a file whose content has not the digest in its record, with an `InputError`."""
    if kept != found:
        raise InputError(f"{path} was changed after it was made; {remedy(path)}")


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
        f" ({type(error).__name__}: {error}); {remedy(path)}"
    )
