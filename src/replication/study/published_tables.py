"""Published tables, which people type from a paper."""

import csv
from math import isfinite
from pathlib import Path

from replication.base.errors import InputError
from replication.base.strict import shorten


def check_published_table(path: Path, columns: tuple[str, ...]) -> None:
    """Refuse by an `InputError` a file that is no table, or lacks some columns of numbers.

    The plan of jobs calls this function, which avoids pandas for that: pandas takes half a second
    to load.
    """
    line = 1
    try:
        if not path.is_file():
            raise ValueError("is no file")
        # Some editors write a signature before the first column.
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
        header, *rows = csv.reader(lines, strict=True)
        if not rows or any(header.count(name) != 1 for name in columns):
            raise ValueError("lacks rows or a column, or has one twice")
        for row in filter(None, rows):
            line += 1
            if len(row) != len(header):
                raise ValueError(f"has {len(row)} values for {len(header)} columns")
            for name in columns:
                if not _is_number(row[header.index(name)]):
                    raise ValueError(f"{name} is no number")
    except (OSError, ValueError, csv.Error) as error:
        wrong = getattr(error, "strerror", None) or error
        raise InputError(
            f"{shorten(path, 300)}, line {line}: {wrong}; name or correct a CSV that has numbers or"
            f" gaps as {', '.join(columns) or 'its values'}"
        ) from error


def _is_number(text: str) -> bool:
    try:
        return not text or ("_" not in text and isfinite(float(text)))
    except ValueError:
        return False
