"""Fetching a data set from a real server: whole, interrupted, wrong, absent."""

import hashlib
import os
import random
import socket
import zipfile
from pathlib import Path

import pytest
from archive_server import CONTENT, WHOLE, ArchiveServer, archive_of, left, texts, zipped
from fetching import OFFLINE, SIZE, assert_advice, fetch, refusal, serve, served_archive

from replication.base.errors import InputError
from replication.run.fetch import fetch as fetch_content
from replication.study.datasets import Content, Download, Member


@pytest.fixture
def server(monkeypatch):
    yield from serve(monkeypatch)


@pytest.fixture
def archive(server):
    return served_archive(server)


def test_whole_download(server, archive, tmp_path):
    fetch(archive, tmp_path / "new/folder")
    assert left(tmp_path / "new/folder") == WHOLE
    assert server.asked == [None]
    assert server.sent == SIZE
    assert server.agents == {"transformer-dynamics"}


def test_unpacking_again_needs_no_network(server, archive, tmp_path):
    fetch(archive, tmp_path)
    (tmp_path / "train.txt").unlink()
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE
    assert len(server.asked) == 1


@pytest.mark.parametrize("seed", range(5))
def test_interrupted_download_goes_on_where_it_stopped(server, archive, tmp_path, seed):
    server.stops_at = random.Random(seed).randrange(100_000, SIZE)
    message = refusal(archive, tmp_path)
    part = tmp_path / "texts-v1.zip.part"
    have = part.stat().st_size
    assert f"the download stopped at {have} of {SIZE} bytes" in message
    assert_advice(message, tmp_path)
    # Of what was sent, at most one piece and the bytes under way are lost.
    assert server.stops_at - (1 << 17) <= have <= server.stops_at
    assert left(tmp_path) == {part.name: CONTENT[:have]}
    server.stops_at, server.sent = None, 0
    fetch(archive, tmp_path)
    assert server.asked == [None, f"bytes={have}-"]
    assert server.sent == SIZE - have
    assert left(tmp_path) == WHOLE


def test_every_interruption_gets_further(server, archive, tmp_path):
    for stop in (200_000, 400_000):
        server.stops_at = stop
        refusal(archive, tmp_path)
    server.stops_at = None
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE


def test_server_that_cannot_send_parts_sends_all(server, archive, tmp_path):
    server.ranges = False
    (tmp_path / "texts-v1.zip.part").write_bytes(CONTENT[:100_000])
    fetch(archive, tmp_path)
    assert server.asked == ["bytes=100000-"]
    assert server.sent == SIZE
    assert left(tmp_path) == WHOLE


def test_part_that_begins_before_what_was_asked_is_placed_right(server, archive, tmp_path):
    server.shift = -1000
    (tmp_path / "texts-v1.zip.part").write_bytes(CONTENT[:100_000])
    fetch(archive, tmp_path)
    assert server.sent == SIZE - 99_000
    assert left(tmp_path) == WHOLE


def test_part_that_begins_after_what_was_asked_is_refused(server, archive, tmp_path):
    server.shift = 1000
    part = tmp_path / "texts-v1.zip.part"
    part.write_bytes(CONTENT[:100_000])
    assert "the server answered 206" in refusal(archive, tmp_path)
    assert left(tmp_path) == {part.name: CONTENT[:100_000]}


def test_download_that_only_lacked_its_name(server, archive, tmp_path):
    """Killed after the last byte."""
    (tmp_path / "texts-v1.zip.part").write_bytes(CONTENT)
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE
    assert server.asked == []


@pytest.mark.parametrize("length", [SIZE - 200_000, SIZE, SIZE + 10])
def test_partial_download_of_something_else_is_deleted(server, archive, tmp_path, length):
    other = zipped(texts(seed=1)) + bytes(200_000)
    (tmp_path / "texts-v1.zip.part").write_bytes(other[:length])
    message = refusal(archive, tmp_path)
    assert f"expected {SIZE} bytes with sha256 {archive.sha256}; it is deleted now" in message
    assert_advice(message, tmp_path)
    assert left(tmp_path) == {}
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE


@pytest.mark.parametrize("longer", [b"", bytes(10_000_000)])
def test_wrong_checksum(server, archive, tmp_path, longer):
    server.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]) + longer
    # Buffers between the two take megabytes that nobody reads.
    server.rests_at = SIZE + 1_000_000
    message = refusal(archive, tmp_path)
    assert f"texts-v1.zip.part: has {SIZE if not longer else ''}" in message
    assert_advice(message, tmp_path)
    assert left(tmp_path) == {}
    assert server.sent < SIZE + 5_000_000, "an endless answer is not read to its end"


def test_web_page_instead_of_the_file(server, archive, tmp_path):
    server.content = b"<!DOCTYPE html><title>Log in</title>" + bytes(SIZE)
    message = refusal(archive, tmp_path)
    assert "sent no zip file but what begins with b'<!DOCTYPE html><title>Log in" in message
    assert_advice(message, tmp_path)
    assert left(tmp_path) == {}


@pytest.mark.parametrize("announced", [True, False])
def test_truncated_file(server, archive, tmp_path, announced):
    server.content, server.announces_length = CONTENT[:300_000], announced
    message = refusal(archive, tmp_path)
    assert f"stopped at 300000 of {SIZE} bytes (the server ended it)" in message
    assert_advice(message, tmp_path)
    assert left(tmp_path) == {"texts-v1.zip.part": CONTENT[:300_000]}


@pytest.mark.parametrize(
    ("status", "said"), [(403, "403 Forbidden"), (404, "404 Not Found"), (500, "500 Internal")]
)
def test_error_of_the_server(server, archive, tmp_path, status, said):
    server.status = status
    message = refusal(archive, tmp_path)
    assert message.startswith(f"{server.url}: the download stopped at 0 of {SIZE} bytes")
    assert f"(the server answered {said}" in message
    assert_advice(message, tmp_path)
    assert left(tmp_path) == {}


def test_no_server(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"https://localhost:{closed.getsockname()[1]}/texts-v1.zip"
        message = refusal(archive_of(url, CONTENT), tmp_path)
    assert "(Connection refused)" in message
    assert_advice(message, tmp_path)


def test_no_such_host(tmp_path):
    message = refusal(archive_of("https://nowhere.invalid/texts-v1.zip", CONTENT), tmp_path)
    assert message.startswith("https://nowhere.invalid/texts-v1.zip: the download stopped at 0 of")
    assert_advice(message, tmp_path)


def test_server_that_nobody_vouches_for(server, archive, tmp_path, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    message = refusal(archive, tmp_path)
    assert "certificate verify failed" in message
    assert server.sent == 0


def test_certificates_that_are_not_there(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere.pem")
    message = refusal(archive, tmp_path)
    assert "invalid path: /nowhere.pem); check the network" in message


def test_redirect_is_followed_but_not_away_from_https(server, archive, tmp_path):
    with ArchiveServer(CONTENT) as other:
        server.redirect = other.url.replace("https:", "http:")
        assert "http://localhost" in refusal(archive, tmp_path)
        assert other.asked == []
        server.redirect = other.url
        fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE


def test_archive_put_there_by_hand(server, archive, tmp_path):
    (tmp_path / "texts-v1.zip").write_bytes(CONTENT)
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE
    assert server.asked == []


def test_wrong_archive_put_there_by_hand_is_named_and_kept(server, archive, tmp_path):
    (tmp_path / "texts-v1.zip").write_bytes(CONTENT[:-1])
    message = refusal(archive, tmp_path)
    assert f"texts-v1.zip: has {SIZE - 1} bytes with sha256" in message
    assert message.endswith("delete it and run the same command again")
    assert left(tmp_path) == {"texts-v1.zip": CONTENT[:-1]}


def test_a_link_in_the_place_of_a_download_is_not_followed(server, archive, tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("mine")
    folder = tmp_path / "found"
    folder.mkdir()
    part = folder / "texts-v1.zip.part"
    for link in (part.symlink_to, part.hardlink_to):
        link(own)
        assert f"{part}: is a link, and a download would" in refusal(archive, folder)
        part.unlink()
    part.symlink_to(tmp_path / "nowhere")
    assert f"{part}: is a link, and a download would" in refusal(archive, folder)
    part.unlink()
    # The members' own places are taken by files, and what a link led to stays.
    (folder / "train.txt").symlink_to(own)
    fetch(archive, folder)
    assert left(folder) == WHOLE
    assert own.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["texts-v1.zip", "texts-v1.zip.part", "train.txt"])
def test_what_is_no_file_is_named(server, archive, tmp_path, name):
    (tmp_path / name).mkdir()
    message = refusal(archive, tmp_path)
    assert message == f"{tmp_path}/{name}: is no file; move it away and run the same command again"
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    assert refusal(archive, tmp_path) == message
    assert server.asked == []


def test_folder_that_is_a_file(server, archive, tmp_path):
    (tmp_path / "file").write_text("")
    message = refusal(archive, tmp_path / "file")
    assert message.startswith(f"{tmp_path}/file: cannot be used (File exists); make room or allow")
    assert server.asked == []


@pytest.fixture
def files(server: ArchiveServer) -> Content:
    """Two files that are not packed."""
    url = server.url.replace("texts-v1.zip", "words")
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Content(files={
        name: Download(url=f"{url}/{name}", sha256=digest, bytes=SIZE) for name in ("a.tsv", "b")
    })  # fmt: skip


def test_files_that_are_not_packed(server, files, tmp_path):
    fetch_content(files, tmp_path / "new")
    assert left(tmp_path / "new") == {"a.tsv": CONTENT, "b": CONTENT}
    assert server.asked == [None, None]
    fetch_content(files, tmp_path / "new")
    assert server.asked == [None, None], "what is there is not fetched again"


def test_files_that_are_not_packed_go_on_one_by_one(server, files, tmp_path):
    (tmp_path / "a.tsv").write_bytes(CONTENT)
    server.stops_at = 300_000
    with pytest.raises(InputError) as caught:
        fetch_content(files, tmp_path, OFFLINE)
    have = (tmp_path / "b.part").stat().st_size
    assert f"/words/b: the download stopped at {have} of {SIZE} bytes" in caught.value.message
    assert caught.value.message.endswith(f"put the file at {tmp_path}/b by hand, or {OFFLINE}")
    server.stops_at = None
    fetch_content(files, tmp_path)
    assert server.asked == [None, f"bytes={have}-"]
    assert left(tmp_path) == {"a.tsv": CONTENT, "b": CONTENT}


def test_a_file_with_another_content_is_refused(server, files, tmp_path):
    (tmp_path / "a.tsv").write_bytes(CONTENT)
    server.content = bytes(SIZE)
    with pytest.raises(InputError, match=r"b\.part: has \d+ bytes with sha256"):
        fetch_content(files, tmp_path)
    assert left(tmp_path) == {"a.tsv": CONTENT}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What pip fetches from: a folder with one wheel."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "some_words-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("words/a.txt", b"a")
        told = "some_words-1.0.dist-info/"
        wheel.writestr(f"{told}METADATA", "Metadata-Version: 2.1\nName: some-words\nVersion: 1.0\n")
        wheel.writestr(f"{told}WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{told}RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_a_wheel_is_fetched_by_pip(index, tmp_path):
    content = next(index.iterdir()).read_bytes()
    wheel = archive_of("pkg:pypi/some-words@1.0", content)
    wheel = wheel.model_copy(update={"files": {"a.txt": Member(path="words/a.txt")}})
    fetch(wheel, tmp_path / "found")
    assert left(tmp_path / "found") == {"some-words@1.0.whl": content, "a.txt": b"a"}
    message = refusal(wheel.model_copy(update={"sha256": 64 * "0"}), tmp_path / "other")
    assert f"with sha256 {64 * '0'}; it is deleted now; check the index of pip, or put" in message
    assert left(tmp_path / "other") == {}


def test_a_wheel_that_pip_does_not_find(index, tmp_path):
    message = refusal(archive_of("pkg:pypi/some-words@2.0", CONTENT), tmp_path / "found")
    assert message.startswith("pkg:pypi/some-words@2.0: pip cannot download it (ERROR: No matching")
    path = tmp_path / "found/some-words@2.0.whl"
    assert message.endswith(f"command again, or put the file at {path} by hand, or {OFFLINE}")
    assert left(tmp_path / "found") == {}
