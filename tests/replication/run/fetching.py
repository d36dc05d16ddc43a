"""A server of one archive, and what a user reads of a download."""

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from archive_server import CERTIFICATE, CONTENT, ArchiveServer, archive_of

from replication.base.errors import InputError
from replication.run.fetch import fetch as fetch_content
from replication.study.datasets import Archive, Content

SIZE = len(CONTENT)
OFFLINE = "set the.key to a folder"
PATIENT = "import replication.run.fetch as fetch; fetch.TIMEOUT = None; fetch.main()"
"""Downloads as `python -m replication.run.fetch` does; a slow machine does not end it."""


def serve(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CERTIFICATE))
    with ArchiveServer(CONTENT) as server:
        yield server


def served_archive(server: ArchiveServer) -> Archive:
    return archive_of(server.url, CONTENT)


def fetch(archive: Archive, folder: Path, offline: str = "") -> None:
    fetch_content(Content(archive=archive), folder, offline)


def refusal(archive: Archive, folder: Path) -> str:
    """The one sentence that a user reads."""
    with pytest.raises(InputError) as caught:
        fetch(archive, folder, OFFLINE)
    assert "\n" not in caught.value.message
    return caught.value.message


def assert_advice(message: str, folder: Path) -> None:
    assert message.endswith(
        f"run the same command again, or put the file at {folder}/texts-v1.zip by hand,"
        f" or {OFFLINE}"
    )


def program(archive: Archive, folder: Path, **process: Any) -> subprocess.Popen[str]:
    arguments = {
        "--settings": Content(archive=archive).model_dump_json(),
        "--folder": str(folder),
        "--offline": OFFLINE,
    }
    return subprocess.Popen(
        [sys.executable, "-c", PATIENT, *chain(*arguments.items())],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **process,
    )
