"""What the page is made of: pictures, tables, texts and run times, read and checked."""

import csv
import io
import os
import re
import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Annotated, NamedTuple
from xml.etree import ElementTree as Xml

from pydantic import Field, model_validator

from transformer_dynamics.errors import InputError
from transformer_dynamics.registry import Registry
from transformer_dynamics.storage import unreadable
from transformer_dynamics.strict import Strict, distinct

EMBEDDED = 256 * 1024
"""Bytes up to which a table is part of the page; a larger one is linked."""

Text = Annotated[str, Field(min_length=1)]
_PNG = b"\x89PNG\r\n\x1a\n"
_SCREEN = 96
_PIXELS = {"": 1.0, "px": 1.0, "pt": _SCREEN / 72, "in": float(_SCREEN)}


class Benchmarks(Strict):
    """Snakemake's benchmark files of one rule."""

    pattern: Annotated[str, Field(pattern=r"\{\}")]
    """Path, with {} where the name stands."""
    names: list[str]
    """They."""

    @property
    def paths(self) -> list[Path]:
        """One per name."""
        return [Path(self.pattern.replace("{}", name)) for name in self.names]


class FigureSource(Strict):
    """One figure and what belongs to it."""

    name: Text
    """What the claims call it."""
    drawing: Text
    """What it is drawn as; its texts have this name."""
    picture: Path
    """SVG or PNG."""
    table: Path
    """The numbers that it draws, as CSV."""
    command: Text
    """What rebuilds it."""
    benchmarks: list[Benchmarks] = []
    """Run times of everything that it was made by."""


class FigureSources(Strict):
    """All figures, in their order."""

    figures: list[FigureSource]
    """They."""

    @model_validator(mode="after")
    def _check_names(self) -> "FigureSources":
        distinct([figure.name for figure in self.figures])
        return self


class Picture(NamedTuple):
    """A picture within the page."""

    uri: str
    """Itself, as a data URI."""
    width: int
    """In pixels of CSS."""
    height: int
    """In pixels of CSS."""


class Table(NamedTuple):
    """A table within the page or beside it."""

    name: str
    """Name of its file."""
    link: str
    """Itself as a data URI, or its path from the page."""
    embedded: bool
    """Which of the two."""
    rows: int
    """Number of rows."""
    columns: list[str]
    """Names of its columns."""


def read_picture(path: Path) -> Picture:
    """Read a whole SVG or PNG.

    Raises:
        InputError: if it is missing, damaged or neither.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".png":
            return Picture(_data_uri("image/png", content), *_png_size(content))
        return Picture(_data_uri("image/svg+xml", content), *_svg_size(content))
    except (OSError, ValueError, KeyError, struct.error, Xml.ParseError) as error:
        raise unreadable(path, error) from error


def read_csv_file(path: Path, page: Path) -> Table:
    """Read the numbers of a figure, to be embedded or linked.

    Args:
        path: of the table.
        page: path of the page, from which a large table is linked.

    Raises:
        InputError: if it is missing, empty, or its rows are not of one length.
    """
    try:
        content = path.read_bytes()
        header, *rows = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
        if not rows or any(len(row) != len(header) for row in rows):
            raise ValueError("its rows are missing or not of one length")
    except (OSError, ValueError, csv.Error) as error:
        raise unreadable(path, error) from error
    embedded = len(content) <= EMBEDDED
    link = (
        _data_uri("text/csv;charset=utf-8", content)
        if embedded
        else Path(os.path.relpath(path, page.parent)).as_posix()
    )
    return Table(path.name, link, embedded, len(rows), header)


def run_time(benchmarks: list[Benchmarks]) -> float | None:
    """Seconds that all jobs took; None unless every one was measured.

    Raises:
        InputError: if a file is damaged.
    """
    paths = [path for benchmark in benchmarks for path in benchmark.paths]
    if not paths or not all(path.is_file() for path in paths):
        return None
    return sum(_seconds(path) for path in paths)


def _seconds(path: Path) -> float:
    """Time by the clock of one job."""
    try:
        (row, *_) = csv.DictReader(path.read_text().splitlines(), delimiter="\t")
        return float(row["s"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unreadable(path, error) from error


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _png_size(content: bytes) -> tuple[int, int]:
    """Width and height in print, of a PNG whose every chunk is whole."""
    if not content.startswith(_PNG):
        raise ValueError("it is not a PNG")
    chunks: dict[bytes, bytes] = {}
    position = len(_PNG)
    while b"IEND" not in chunks:
        (length,) = struct.unpack_from(">I", content, position)
        kind, data = content[position + 4 : position + 8], content[position + 8 :][:length]
        (checksum,) = struct.unpack_from(">I", content, position + 8 + length)
        if zlib.crc32(kind + data) != checksum:
            raise ValueError("a part of it is damaged")
        chunks[kind] = data
        position += 12 + length
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    per_metre, _, unit = struct.unpack(">IIB", chunks.get(b"pHYs", bytes(9)))
    scale = _SCREEN / (per_metre * 0.0254) if unit == 1 and per_metre else 1.0
    return round(width * scale), round(height * scale)


def _svg_size(content: bytes) -> tuple[int, int]:
    root = Xml.fromstring(content)
    if not root.tag.endswith("}svg"):
        raise ValueError("it is not an SVG")
    width, height = (_pixels(root.get(side, "")) for side in ("width", "height"))
    return width, height


def _pixels(length: str) -> int:
    found = re.fullmatch(r"([\d.]+)([a-z]*)", length)
    if not found or found[2] not in _PIXELS:
        raise ValueError(f"its size, '{length}', is not a length")
    return round(float(found[1]) * _PIXELS[found[2]])


def require_texts(figures: list[FigureSource], registry: Registry) -> None:
    """Refuse figures of which the registry says nothing.

    Raises:
        InputError: names the first one.
    """
    for figure in figures:
        if figure.drawing not in registry.figures:
            raise InputError(
                f"the registry says nothing of the drawing '{figure.drawing}' of figure"
                f" {figure.name}; add it under figures"
            )
