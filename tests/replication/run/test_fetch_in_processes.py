"""Fetching in processes of their own: what a kill and a full disk leave behind."""

import resource
import signal
import time

import pytest
from archive_server import CONTENT, TEXTS, WHOLE, left
from fetching import SIZE, fetch, program, serve, served_archive


@pytest.fixture
def server(monkeypatch):
    yield from serve(monkeypatch)


@pytest.fixture
def archive(server):
    return served_archive(server)


def test_killed_download_goes_on_where_it_stopped(server, archive, tmp_path):
    server.stops_at = SIZE // 2
    server.hangs.clear()
    process = program(archive, tmp_path)
    part = tmp_path / "texts-v1.zip.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    have = part.stat().st_size
    assert 0 < have <= SIZE // 2
    assert left(tmp_path) == {part.name: CONTENT[:have]}
    server.stops_at, server.sent = None, 0
    server.hangs.set()
    again = program(archive, tmp_path)
    output, _ = again.communicate()
    assert again.returncode == 0, output
    assert "100%" in output, "progress is shown"
    assert server.sent == SIZE - have
    assert left(tmp_path) == WHOLE


def test_several_processes_share_one_download(server, archive, tmp_path):
    server.stops_at = SIZE // 2
    server.hangs.clear()
    first = program(archive, tmp_path)
    part = tmp_path / "texts-v1.zip.part"
    while first.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.01)
    others = [program(archive, tmp_path) for _ in range(2)]
    waiting = [process.stdout.readline() for process in others if process.stdout]
    path = tmp_path / "texts-v1.zip"
    assert waiting == 2 * [f"{path}: waiting for another process that downloads it\n"]
    # The first one fails, a second one goes on, and the third one has nothing left to do.
    server.stops_at = None
    server.hangs.set()
    outputs = [process.communicate()[0] for process in (first, *others)]
    assert [process.returncode for process in (first, *others)] == [1, 0, 0], outputs
    assert left(tmp_path) == WHOLE
    assert [asked is None for asked in server.asked] == [True, False]


@pytest.mark.parametrize(
    ("room", "file", "kept"),
    [
        pytest.param(300_000, "", {"texts-v1.zip.part"}, id="archive"),
        pytest.param(SIZE + 1000, "/train.txt", {"texts-v1.zip"}, id="text"),
    ],
)
def test_disk_that_refuses(archive, tmp_path, room, file, kept):
    assert len(TEXTS["train"]) > SIZE + 1000
    limit = (room, resource.RLIM_INFINITY)
    process = program(
        archive, tmp_path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    assert f"Error: {tmp_path}{file}: cannot be" in output
    assert "(File too large); make room or allow writing there, then run the same" in output
    assert "Traceback" not in output
    assert set(left(tmp_path)) == kept
    fetch(archive, tmp_path)
    assert left(tmp_path) == WHOLE
