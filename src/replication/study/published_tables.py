"""Published tables, which people type from a paper."""

import csv
from math import isfinite
from pathlib import Path

from replication.base.errors import InputError
from replication.base.strict import shorten


def check_published_table(path: Path, columns: tuple[str, ...]) -> None:
    """Refuse a file that is no table, or lacks some columns of numbers.

    The plan of jobs calls this function, which avoids pandas for that: pandas takes half a second
    to load.

    Raises:
        InputError: names the mistake and its place.
    """
    try:
        if not path.is_file():
            wanted = ", ".join(columns) or "as read"
            raise InputError(f"{path}: is no file; name a CSV with columns {wanted}")
        # Some editors write a signature before the first column.
        with path.open(newline="", encoding="utf-8-sig") as stream:
            table = csv.DictReader(stream, strict=True)
            found = list(table.fieldnames or ())
            if missing := [name for name in columns if name not in found]:
                raise InputError(
                    f"{path}: lacks the column(s) {', '.join(missing)}; add them, or name another"
                    " table"
                )
            if twice := {name for name in found if name and found.count(name) > 1}:
                raise InputError(
                    f"{path}: has the column(s) {', '.join(sorted(twice))} more than once; remove"
                    " all but one"
                )
            for row in table:
                _check_row(row, columns, f"{path}, line {table.line_num}")
    except (OSError, ValueError, csv.Error) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(
            f"{shorten(path)}: cannot be read as a CSV ({said}); correct it"
        ) from error
    if table.line_num < 2:
        raise InputError(f"{path}: has no rows; correct it")


def _check_row(row: dict[str, str], columns: tuple[str, ...], where: str) -> None:
    if None in row:
        raise InputError(f"{where}: has more values than there are columns; correct it")
    for name in columns:
        if not _is_number(row[name]):
            raise InputError(f"{where}: {name} is no number; correct it, or leave it empty")


def _is_number(text: str | None) -> bool:
    try:
        return not text or ("_" not in text and isfinite(float(text)))
    except ValueError:
        return False
