"""Archives and their members: damaged, too large, in the place of other files."""

import hashlib
import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from archive_server import CONTENT, TEXTS, WHOLE, archive_of, left
from fetching import OFFLINE, fetch, refusal, serve, served_archive

from replication.base.errors import InputError
from replication.study.datasets import Archive, Member


@pytest.fixture
def server(monkeypatch):
    yield from serve(monkeypatch)


@pytest.fixture
def archive(server):
    return served_archive(server)


def with_member(archive: Archive, split: str, **changes: object) -> Archive:
    name = f"{split}.txt"
    member = Member(**{**archive.files[name].model_dump(), **changes})
    return archive.model_copy(update={"files": {**archive.files, name: member}})


def test_member_that_the_archive_lacks(archive, tmp_path):
    message = refusal(with_member(archive, "test", path="elsewhere/words.test.tokens"), tmp_path)
    assert (
        "has no member elsewhere/words.test.tokens, only texts/words.test.tokens, texts/" in message
    )
    assert "correct the path in the registry of data sets" in message
    assert left(tmp_path) == {"texts-v1.zip": CONTENT}, "no text of an archive that lacks one"


def test_member_with_another_content(archive, tmp_path):
    message = refusal(with_member(archive, "train", sha256="0" * 64), tmp_path)
    digest = hashlib.sha256(TEXTS["train"]).hexdigest()
    assert f"{len(TEXTS['train'])} bytes with sha256 {digest}, expected 00" in message
    assert left(tmp_path) == {"texts-v1.zip": CONTENT}


def unpack(folder: Path, content: bytes, **member: Any) -> bytes:
    """The file `a` that an archive put there by hand is said to have."""
    archive = archive_of("https://nowhere.invalid/texts-v1.zip", content)
    (folder / archive.name).write_bytes(content)
    files = {"a": Member(**{"path": "a", **member})}
    fetch(archive.model_copy(update={"files": files}), folder, OFFLINE)
    return (folder / "a").read_bytes()


def one_member(content: bytes, method: int = zipfile.ZIP_DEFLATED, name: str = "a") -> bytes:
    """An archive of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as opened:
        opened.writestr(name, content)
    return stream.getvalue()


def spoilt(archive: bytes, place: int, by: bytes) -> bytes:
    return archive[:place] + by + archive[place + len(by) :]


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
WORDS = bytes(range(256)) * 40


@pytest.mark.parametrize("method", METHODS)
def test_damaged_members_are_named(tmp_path, method):
    """Each decompressor has errors of its own; bz2 raises what a full disk does."""
    whole = one_member(WORDS, method)
    assert unpack(tmp_path, whole) == WORDS
    for place in range(31, len(whole) - 100, len(whole) // 10):
        with pytest.raises(InputError, match=r"texts-v1\.zip: cannot be unpacked \(") as caught:
            unpack(tmp_path, spoilt(whole, place, b"\xff\x00\xff"))
        assert "; correct the registry of data sets, whose checksum it has" in caught.value.message
        assert "\n" not in caught.value.message
        assert (tmp_path / "a").read_bytes() == WORDS
    assert set(left(tmp_path)) == {"a", "texts-v1.zip"}


def test_member_whose_name_is_no_text(tmp_path):
    archive = one_member(b"", name="é").replace("é".encode(), b"\xff\xff")
    with pytest.raises(InputError, match=r"cannot be unpacked \('utf-8' codec can't decode"):
        unpack(tmp_path, archive)
    with pytest.raises(InputError, match=r"has no member a, only b\\nb;"):
        unpack(tmp_path, one_member(b"", name="b\nb"))


@pytest.mark.parametrize("known", [{}, {"bytes": 0}, {"sha256": hashlib.sha256().hexdigest()}])
def test_member_without_content(tmp_path, known):
    assert unpack(tmp_path, one_member(b""), **known) == b""
    with pytest.raises(InputError, match="a has 0 bytes, expected 1; correct the registry"):
        unpack(tmp_path, one_member(b""), bytes=1)


def test_member_that_is_a_folder(tmp_path):
    with pytest.raises(InputError, match="has no member a/, only ;"):
        unpack(tmp_path, one_member(b"", name="a/"), path="a/")


@pytest.mark.parametrize("method", METHODS)
def test_too_large_a_member_is_not_unpacked(tmp_path, monkeypatch, method):
    """Neither one that says so, nor one whose headers lie."""
    bomb = one_member(bytes(10_000_000), method)
    told = struct.pack("<I", 10_000_000)
    lying = bomb.replace(told, struct.pack("<I", 10))
    written: list[int] = []
    monkeypatch.setattr("replication.run.fetch.PIECE", 1000)
    original = zipfile.ZipExtFile.read
    monkeypatch.setattr(
        zipfile.ZipExtFile,
        "read",
        lambda self, n: written.append(len(piece := original(self, n))) or piece,
    )
    with pytest.raises(InputError, match="a has 10000000 bytes, expected 10; correct"):
        unpack(tmp_path, bomb, bytes=10)
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(tmp_path, lying, bytes=10)
    assert sum(written) <= 10
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(tmp_path, bomb.replace(told, struct.pack("<I", 10_000_010)))
    assert set(left(tmp_path)) == {"texts-v1.zip"}


def test_member_with_its_own_checksum(archive, tmp_path):
    for split, text in TEXTS.items():
        known = {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
        archive = with_member(archive, split, **known)
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE


@pytest.mark.parametrize("path", ["../outside.txt", "/tmp/outside.txt"])
def test_members_cannot_leave_the_folder(server, tmp_path, path):
    """Neither one that is not asked for, nor one that is."""
    folder, outside = tmp_path / "a/b", tmp_path / "a/outside.txt"
    packed = tmp_path / "packed.zip"
    packed.write_bytes(CONTENT)
    with zipfile.ZipFile(packed, "a") as opened:
        opened.writestr(path, "outside")
    server.content = packed.read_bytes()
    archive = archive_of(server.url, server.content)
    fetch(archive, folder)
    fetch(with_member(archive, "test", path=path), folder)
    assert set(left(folder)) == set(WHOLE)
    assert (folder / "test.txt").read_bytes() == b"outside"
    assert not outside.exists()
    assert not Path("/tmp/outside.txt").exists()


def test_archive_with_the_right_checksum_that_is_none(server, tmp_path):
    server.content = CONTENT[:100_000]
    message = refusal(archive_of(server.url, server.content), tmp_path)
    assert "cannot be unpacked (File is not a zip file); correct the registry" in message
