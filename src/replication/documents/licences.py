"""Licences of everything that studies download, as the lines of a table."""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlparse

from replication.base.markdown import table
from replication.study.datasets import Dataset, find_datasets

HEADER = ("name", "what it is", "listed by", "from", "size", "licence", "to pass on")
"""Columns of the table."""
ALLOWED = "allowed, under this licence"
FORBIDDEN = "not redistributable"
"""Answer where no licence is stated, and where the terms name research alone."""
_OPEN = re.compile(r"(Apache-2\.0|BSD|CC BY|CC0|GFDL|MIT)\b")
"""Beginning of the terms that let anyone pass files on."""


def licence_lines(folders: Iterable[Path]) -> list[str]:
    """Return a row for every data set, encoder and network, as the lines of a table.

    Args:
        folders: folders that have a `datasets.yaml`.

    Raises:
        InputError: if a file cannot be read or has a mistake.
    """
    rows = [
        (f"`{name}`", dataset.title, f"`{folder.name}`", *_terms(dataset))
        for folder in folders
        for name, dataset in find_datasets([folder]).items()
    ]
    return table(HEADER, rows)


def _terms(dataset: Dataset) -> tuple[str, ...]:
    """Return origin, size, licence and whether files may be passed on."""
    downloads = dataset.downloads.values()
    hosts = {"PyPI" if each.is_wheel else str(urlparse(each.url).hostname) for each in downloads}
    size = sum(each.bytes for each in downloads) / 1e6
    return (
        ", ".join(sorted(hosts)),
        f"{size:.{max(0, 2 - len(str(int(size))))}f} MB",
        dataset.licence,
        ALLOWED if _OPEN.match(dataset.licence) else FORBIDDEN,
    )
