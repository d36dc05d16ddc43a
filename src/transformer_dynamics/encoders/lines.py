"""Lines of files of labelled texts, each with its place, so that an error can name it."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from replication.base.errors import InputError
from transformer_dynamics.encoders.settings import MEND

T = TypeVar("T")
Row = Sequence[str]
"""Label and one text or two."""
Placed = tuple[str, T]
"""File and line, as an error names them, and their content."""


def decoded(path: Path, encoding: str = "utf-8") -> str:
    """Read a file as text, without a mark of its byte order; an `InputError` names a wrong line."""
    content = path.read_bytes()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: is not in {encoding}; {MEND}") from error


def read_lines(path: Path, encoding: str = "utf-8") -> list[Placed[str]]:
    """Return the lines of a file that are not empty, each with its place.

    Only a line feed ends a line, as other separators occur within texts.
    """
    lines = enumerate(decoded(path, encoding).split("\n"), start=1)
    return [
        (f"{path}, line {number}", line.removesuffix("\r"))
        for number, line in lines
        if line.strip()
    ]


def parsed(
    lines: Iterable[Placed[T]], parse: Callable[[T], Row], expected: str
) -> list[Placed[Row]]:
    """Return the rows that lines hold, each with its place.

    Where `parse` raises a ValueError or an IndexError, an `InputError` names the place and the
    `expected` content of a line.
    """
    rows = []
    for place, line in lines:
        try:
            rows.append((place, parse(line)))
        except (ValueError, IndexError, RecursionError) as error:
            raise InputError(f"{place}: does not consist of {expected}; {MEND}") from error
    return rows


def read_csv(path: Path, delimiter: str = ",") -> list[Placed[list[str]]]:
    """Read the rows of a CSV file, each with the line where it ends."""
    document = io.StringIO(decoded(path), newline="")
    reader = csv.reader(document, strict=True, delimiter=delimiter)
    try:
        return [(f"{path}, line {reader.line_num}", cells) for cells in reader]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: cannot be read as CSV ({error}); {MEND}"
        ) from error
