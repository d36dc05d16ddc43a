"""Fetching a data set from a real server: whole, interrupted, wrong, absent, several at once."""

import gc
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pooch
import pytest
from archive_server import CERTIFICATE, CONTENT, TEXTS, WHOLE, ArchiveServer, archive_of, left

from replication.base.errors import InputError
from replication.run.fetch import fetch
from replication.study.datasets import Archive, Content, Download

# Pooch leaves the connection of a failed request to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
OFFLINE = "set the.key to a folder"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CERTIFICATE))
    monkeypatch.setattr(pooch.core.time, "sleep", lambda _: None)
    with ArchiveServer(CONTENT) as server:
        yield server
    gc.collect()  # while the warnings of this file are ignored


@pytest.fixture
def content(server) -> Content:
    """The server's archive."""
    return packed(archive_of(server.url, CONTENT))


@pytest.fixture
def files(server) -> Content:
    """Two files that are not packed."""
    url, digest = server.url, hashlib.sha256(CONTENT).hexdigest()
    return Content(files={
        name: Download(url=url, sha256=digest, bytes=len(CONTENT)) for name in ("a.tsv", "b")
    })  # fmt: skip


def packed(archive: Archive, **changes: object) -> Content:
    return Content(archive=archive.model_copy(update=changes), offline=OFFLINE)


def refusal(content: Content, folder: Path) -> str:
    """The one sentence that a user reads."""
    with pytest.raises(InputError) as caught:
        fetch(content, folder)
    assert "\n" not in caught.value.message
    return caught.value.message


def program(content: Content, folder: Path, **process: Any) -> subprocess.Popen[str]:
    words = ["--settings", content.model_dump_json(), "--folder", str(folder)]
    return subprocess.Popen(
        [sys.executable, "-m", "replication.run.fetch", *words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **process,
    )  # fmt: skip


def test_an_archive_is_downloaded_once(server, content, tmp_path):
    fetch(content, tmp_path / "new/folder")
    assert left(tmp_path / "new/folder") == WHOLE
    (tmp_path / "new/folder/train.txt").unlink()
    fetch(content, tmp_path / "new/folder")
    assert left(tmp_path / "new/folder") == WHOLE
    assert server.agents == ["transformer-dynamics"]


def test_an_archive_that_somebody_put_there_is_taken_if_it_is_the_right_one(
    server, content, tmp_path
):
    (tmp_path / "texts-v1.zip").write_bytes(CONTENT)
    fetch(content, tmp_path)
    assert server.agents == []
    (tmp_path / "texts-v1.zip").write_bytes(CONTENT[:-1])
    fetch(content, tmp_path)
    assert len(server.agents) == 1
    assert left(tmp_path) == WHOLE


def test_files_that_are_not_packed(server, files, tmp_path):
    (tmp_path / "a.tsv").write_bytes(CONTENT)
    fetch(files, tmp_path)
    assert left(tmp_path) == {"a.tsv": CONTENT, "b": CONTENT}
    assert len(server.agents) == 1, "what is there is not fetched again"


def test_a_connection_that_breaks_once_is_no_failure(server, content, tmp_path):
    server.breaks = 1
    fetch(content, tmp_path)
    assert left(tmp_path) == WHOLE


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 404}, "404 Client Error: Not Found for url"),
        ({"status": 500}, "500 Server Error: Internal Server Error for url"),
        ({"breaks": 9}, "IncompleteRead"),
        ({"content": CONTENT[:-1] + b"x"}, "the server sent another file than the one with this"),
        ({"content": b"<!DOCTYPE html><title>Log in</title>"}, "the server sent another file"),
    ],
)
def test_a_fault_of_the_server_is_one_sentence(server, content, tmp_path, fault, said):
    for name, value in fault.items():
        setattr(server, name, value)
    message = refusal(content, tmp_path)
    assert message.startswith(f"{server.url}: cannot be fetched ({said}")
    assert message.endswith(
        "); check the network and the room on the disk and run the same command again, or put the"
        f" file at {tmp_path}/texts-v1.zip by hand, or {OFFLINE}"
    )
    assert left(tmp_path) == {}


def test_no_server(server, content, tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"https://localhost:{closed.getsockname()[1]}/texts-v1.zip"
        assert "(Connection refused);" in refusal(packed(archive_of(url, CONTENT)), tmp_path)


def test_certificates_that_nobody_trusts_or_that_are_not_there(content, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere.pem")
    assert "invalid path: /nowhere.pem);" in refusal(content, tmp_path)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    assert "certificate verify failed" in refusal(content, tmp_path)


def test_a_folder_that_is_a_file(server, content, tmp_path):
    (tmp_path / "file").write_text("")
    message = refusal(content, tmp_path / "file")
    assert message.startswith(f"{server.url}: cannot be fetched (Not a directory);")


def test_an_archive_that_lacks_a_member_or_is_none(server, content, tmp_path):
    lacking = packed(content.archive, files={"test.txt": "elsewhere/words.test.tokens"})
    assert refusal(lacking, tmp_path) == (
        f"{tmp_path}/texts-v1.zip: cannot be unpacked (There is no item named"
        " 'elsewhere/words.test.tokens' in the archive); correct the registry of data sets"
    )
    server.content = CONTENT[:100_000]
    message = refusal(packed(archive_of(server.url, server.content)), tmp_path)
    assert "cannot be unpacked (File is not a zip file); correct the registry" in message


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
    fetch(packed(wheel, files={"a.txt": "words/a.txt"}), tmp_path / "found")
    assert left(tmp_path / "found") == {"some-words@1.0.whl": content, "a.txt": b"a"}


def test_a_wheel_that_pip_does_not_find(index, tmp_path):
    message = refusal(packed(archive_of("pkg:pypi/some-words@2.0", CONTENT)), tmp_path / "found")
    assert message.startswith(
        "pkg:pypi/some-words@2.0: cannot be fetched (pip: ERROR: No matching distribution found"
    )
    assert f"put the file at {tmp_path}/found/some-words@2.0.whl by hand, or" in message
    assert left(tmp_path / "found") == {}


def test_several_processes_and_a_kill_leave_whole_files(server, content, tmp_path):
    server.goes_on.clear()
    killed, *others = (program(content, tmp_path) for _ in range(3))
    while killed.poll() is None and len(server.agents) < 3:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not {*left(tmp_path)} & {*WHOLE}
    server.goes_on.set()
    outputs = [process.communicate()[0] for process in others]
    assert [process.returncode for process in others] == [0, 0], outputs
    assert "100%" in outputs[0], "progress is shown"
    assert left(tmp_path).items() >= WHOLE.items()


@pytest.mark.parametrize(
    ("room", "said", "kept"),
    [
        (100_000, "cannot be fetched (File too large); check the network and the room", set()),
        (len(CONTENT) + 1000, "train.txt: cannot be written (File too large)", {"texts-v1.zip"}),
    ],
)
def test_a_disk_that_refuses(content, tmp_path, room, said, kept):
    assert len(TEXTS["train"]) > len(CONTENT) + 1000
    limit = (room, resource.RLIM_INFINITY)
    process = program(
        content, tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    assert said in output
    assert "Traceback" not in output
    assert {*left(tmp_path)} == kept
    fetch(content, tmp_path)
    assert left(tmp_path) == WHOLE
