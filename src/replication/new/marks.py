"""Marks in a study of what is still the template's."""

import os
from collections.abc import Iterator
from pathlib import Path

from replication.base.errors import InputError
from replication.study.contract import Study

MARK = "TODO:"
"""Beginning of a mark; the words after it say what belongs there."""
SUFFIXES = (".md", ".py", ".yaml")
"""Endings of the files that people write."""


def refuse_marks(study: Study) -> None:
    """Refuse a study with marks of the template, with one sentence for each.

    Raises:
        InputError: if there is a mark in the study's folder or its README.
    """
    found = [*_sentences(study)]
    if found:
        raise InputError("\n".join(found))


def _sentences(study: Study) -> Iterator[str]:
    """Yield a sentence per mark, in the order of the files."""
    files = {path for path in study.folder.rglob("*") if path.suffix in SUFFIXES}
    for path in sorted({*files, study.readme}):
        for number, line in enumerate(_lines(path), start=1):
            if MARK in line:
                wanted = line.partition(MARK)[2].strip(" \"'.")
                place = os.path.relpath(path)
                yield f"{place}, line {number}: is still the template's; TODO: {wanted}"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
