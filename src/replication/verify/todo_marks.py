"""Marks, `TODO:` or `TODO(me):`, in a study: no results are kept while one is left."""

import os
import re
from collections.abc import Iterator

from replication.base.errors import InputError
from replication.study.studies import Study

MARK = re.compile(r"\bTODO(?:\([^)]*\))?:(.*)")
"""Pattern of a mark; the words after it say what belongs there."""
SUFFIXES = (".md", ".py", ".yaml", ".yml")
"""Endings of the files that people write."""


def refuse_marks(study: Study) -> None:
    """Refuse a study with marks in its folder or its README, with one line for each.

    Raises:
        InputError: names file, line and words of every mark, or a file that is no text.
    """
    if found := [*_marks(study)]:
        raise InputError(
            "\n".join(["no reference is kept before these marks are replaced:", *found])
        )


def _marks(study: Study) -> Iterator[str]:
    """Yield place and words of every mark, in the order of the files."""
    files = {path for path in study.folder.rglob("*") if path.suffix in SUFFIXES}
    for path in sorted(path for path in {*files, study.readme} if path.is_file()):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not in UTF-8; save it in that encoding") from error
        for number, line in enumerate(text.splitlines(), start=1):
            if mark := MARK.search(line):
                words = mark[1].strip(" \"'.")
                yield f"{os.path.relpath(path)}, line {number}: {words}"
