"""Fetch a data set: download its files, or the archive that has them, check and unpack them.

The folder then holds them and the archive, so that unpacking again needs no network. Files that
somebody put there are used as if they had been downloaded.
"""

import fcntl
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO

import click
import requests
from tqdm import tqdm

from replication.base.errors import InputError
from replication.base.storage import write_atomically
from replication.base.strict import shorten
from replication.study.datasets import Archive, Content, Download, Member

PIECE = 1 << 16
"""Bytes that are transferred, read and written at once."""
TIMEOUT = (10.0, 60.0)
"""Seconds to wait for a connection, and for the next bytes."""
HEADERS = {"User-Agent": "transformer-dynamics", "Accept-Encoding": "identity"}
"""Headers of a request: some servers refuse the name of Python's client, and a compressed transfer
cannot be resumed."""
ZIP_MAGIC = b"PK\x03\x04"
"""First bytes of every zip file."""


@click.command(help=__doc__)
@click.option("--settings", required=True, help="Archive or files, as JSON.")
@click.option("--folder", required=True, type=click.Path(path_type=Path))
@click.option("--offline", default="", help="Advice at the end of an error message.")
def main(settings: str, folder: Path, offline: str) -> None:
    """Fetch one data set."""
    fetch(Content.parse_json(settings, "--settings"), folder, offline)


def fetch(content: Content, folder: Path, offline: str = "") -> None:
    """Put the files of a data set into `folder`, and their archive if there is one.

    A partial download stays as `*.part`, and the next call continues it. A file gets its final name
    after it is checked. If several processes need a file, one downloads it and the others wait.

    Args:
        content: files or archive to fetch.
        folder: folder of the data set.
        offline: advice for a user without a network, as the end of a sentence.

    Raises:
        InputError: names the failure and the remedy.
    """
    try:
        for name in content.written:
            _refuse_other_than_file(folder / name)
        for name, download in content.downloads.items():
            _ensure_file(folder / name, download, offline)
        if content.archive:
            _unpack(folder / content.archive.name, content.archive.files, folder)
    except OSError as error:
        raise InputError(
            f"{error.filename or folder}: cannot be used ({error.strerror or error}); make room or"
            " allow writing there, then run the same command again"
        ) from error


def _refuse_other_than_file(path: Path) -> None:
    """Refuse a path that exists and is no file, such as a folder or a pipe."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is no file; move it away and run the same command again")


def _ensure_file(path: Path, wanted: Download, offline: str) -> None:
    """Download a file unless it is there, and check it in any case."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with _hold_lock(path):
            if not path.exists():
                otherwise = f"put the file at {path} by hand" + (offline and f", or {offline}")
                (_download_by_pip if wanted.requirement else _download)(path, wanted, otherwise)
                return
    _check_digest(path, wanted, "delete it and run the same command again")


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Wait until no other process downloads a file, and keep others waiting.

    The system drops the lock when the process ends. The hidden file stays, as others may wait for
    it. On a file system without locks nobody waits.
    """
    with path.with_name(f".{path.name}.lock").open("ab") as stream:
        with suppress(OSError):
            _lock(stream, path)
        yield


def _lock(stream: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        click.echo(f"{path}: waiting for another process that downloads it", err=True)
        fcntl.flock(stream, fcntl.LOCK_EX)


def _download_by_pip(path: Path, wanted: Download, otherwise: str) -> None:
    """Download a wheel, and give it its name once it is checked."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        words = ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", *words, "--dest", folder, str(wanted.requirement)]
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, encoding="utf-8")
        found = [*Path(folder).glob("*.whl")]
        if done.returncode or not found:
            raise InputError(
                f"{wanted.url}: pip cannot download it ({_last_line(done.stderr)}); check the"
                f" network and run the same command again, or {otherwise}"
            )
        _check_digest(
            found[0], wanted, f"it is deleted now; check the index of pip, or {otherwise}"
        )
        found[0].replace(path)


def _download(path: Path, wanted: Download, otherwise: str) -> None:
    """Download what is missing of a file, and give it its name once it is checked."""
    part = path.with_name(f"{path.name}.part")
    if part.is_symlink() or (part.exists() and part.stat().st_nlink > 1):
        raise InputError(
            f"{part}: is a link, and a download would overwrite what it leads to; delete the link"
            " and run the same command again"
        )
    cause = "the server ended it"
    try:
        if (have := _size(part)) < wanted.bytes:
            with _request(wanted.url, have) as answer:
                start, pieces = _start_and_pieces(answer, have, _magic(wanted))
                _write(part, start, pieces, wanted.bytes)
    except requests.RequestException as error:
        cause = _root_cause(error)
    if _size(part) < wanted.bytes:
        raise InputError(
            f"{wanted.url}: the download stopped at {_size(part)} of {wanted.bytes} bytes"
            f" ({cause}); check the network and the address and run the same command again, or"
            f" {otherwise}"
        )
    try:
        _check_digest(
            part, wanted, f"it is deleted now; run the same command again, or {otherwise}"
        )
    except InputError:
        part.unlink()
        raise
    part.replace(path)


@contextmanager
def _request(url: str, have: int) -> Iterator[requests.Response]:
    """Ask the server for all after the first bytes, and yield its answer."""
    headers = HEADERS | ({"Range": f"bytes={have}-"} if have else {})
    with requests.Session() as session:
        # A redirect must not lead away from https.
        del session.adapters["http://"]
        try:
            answer = session.get(url, headers=headers, stream=True, timeout=TIMEOUT)
        except OSError as error:
            # Where REQUESTS_CA_BUNDLE names no file, this is no error of the library's own.
            raise requests.RequestException(str(error)) from error
        with answer:
            yield answer


def _start_and_pieces(
    answer: requests.Response, have: int, magic: bytes
) -> tuple[int, Iterator[bytes]]:
    """Return the place in the file where the bytes of an answer begin, and these bytes.

    A server that cannot send parts sends the whole file. Some begin before the requested byte.

    Raises:
        RequestException: if the answer holds no bytes that continue the file.
    """
    given = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    start = int(given[1]) if given and answer.status_code == requests.codes.partial else 0
    if answer.status_code not in {requests.codes.ok, requests.codes.partial} or start > have:
        raise requests.RequestException(f"the server answered {answer.status_code} {answer.reason}")
    pieces = answer.iter_content(PIECE)
    first = next(pieces, b"")
    if start == 0 and not first.startswith(magic):
        raise requests.RequestException(
            f"the server sent no zip file but what begins with {first[:40]!r}"
        )
    return start, chain([first], pieces)


def _magic(wanted: Download) -> bytes:
    """Return the bytes that the file must begin with."""
    return ZIP_MAGIC if isinstance(wanted, Archive) else b""


def _write(part: Path, start: int, pieces: Iterable[bytes], size: int) -> None:
    """Replace all after byte `start` by the pieces; stop when the file is too long."""
    with (
        part.open("ab") as stream,
        tqdm(
            total=size,
            initial=start,
            unit="B",
            unit_scale=True,
            desc=part.stem,
            mininterval=1,
        ) as bar,
    ):
        stream.truncate(start)
        for piece in pieces:
            stream.write(piece)
            bar.update(len(piece))
            if bar.n > size:
                break


def _check_digest(path: Path, wanted: Download, advice: str) -> None:
    """Refuse a file whose digest is not that of the wanted file."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != wanted.sha256:
        raise InputError(
            f"{path}: has {_size(path)} bytes with sha256 {found}, expected {wanted.bytes} bytes"
            f" with sha256 {wanted.sha256}; {advice}"
        )


def _unpack(path: Path, files: dict[str, Member], folder: Path) -> None:
    """Write the named members, and nothing else, under their names."""
    with _explain_failures(path):
        opened = zipfile.ZipFile(path)
    with opened:
        found = {name: _find_member(opened, member) for name, member in files.items()}
        for name, member in files.items():
            _extract_member(opened, found[name], member, folder / name)


@contextmanager
def _explain_failures(path: Path | str | None) -> Iterator[None]:
    """Turn any failure of unpacking into an `InputError` that names the archive.

    A damaged byte, or a name that is no text, makes `zipfile` and its decompressors fail in any
    way.
    """
    try:
        yield
    except Exception as error:
        raise InputError(
            f"{path}: cannot be unpacked ({shorten(error) or type(error).__name__}); correct the"
            " registry of data sets, whose checksum it has"
        ) from error


def _find_member(opened: zipfile.ZipFile, member: Member) -> zipfile.ZipInfo:
    """Find a member of the size that the registry says, before anything is unpacked."""
    files = {info.filename: info for info in opened.infolist() if info.filename[-1:] != "/"}
    if (info := files.get(member.path)) is None:
        raise InputError(
            f"{opened.filename}: has no member {member.path}, only"
            f" {', '.join(map(shorten, [*files][:10]))}; correct the path in the registry"
            " of data sets"
        )
    if member.bytes not in {None, info.file_size}:
        raise InputError(
            f"{opened.filename}: {member.path} has {info.file_size} bytes, expected"
            f" {member.bytes}; correct the registry of data sets"
        )
    return info


def _extract_member(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, member: Member, path: Path
) -> None:
    def write(stream: IO[bytes]) -> None:
        """Copy the member, unless it is not what the registry says."""
        digest = hashlib.sha256()
        for piece in _member_pieces(opened, info):
            digest.update(piece)
            stream.write(piece)
        if member.sha256 not in {None, digest.hexdigest()}:
            raise InputError(
                f"{opened.filename}: {member.path} has {info.file_size} bytes with sha256"
                f" {digest.hexdigest()}, expected {member.sha256}; correct the registry of data"
                " sets"
            )

    write_atomically(path, write)


def _member_pieces(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content of a member, of which `zipfile` reads no more than its header announces."""
    left = info.file_size
    with _explain_failures(opened.filename), opened.open(info) as source:
        while piece := source.read(PIECE):
            left -= len(piece)
            yield piece
        if left:
            raise EOFError(f"{info.filename} ends {left} bytes early")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def _root_cause(error: BaseException) -> str:
    """Return the error that the others were raised from in words, such as `Connection refused`."""
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


if __name__ == "__main__":
    main()
