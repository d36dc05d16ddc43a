"""What the page is made of: pictures, tables, texts and run times, read and checked."""

import csv
import hashlib
import io
import os
import re
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from xml.etree import ElementTree as Xml

from PIL import Image
from pydantic import Field, model_validator

from replication.errors import InputError
from replication.registry import Registry
from replication.storage import unreadable
from replication.strict import Strict, distinct

if TYPE_CHECKING:
    from replication.jobs import Jobs

EMBEDDED = 256 * 1024
"""Bytes up to which a table is part of the page; a larger one is linked."""

Text = Annotated[str, Field(min_length=1)]
_SCREEN = 96
_PIXELS = {"": 1.0, "px": 1.0, "pt": _SCREEN / 72, "in": float(_SCREEN)}


class Benchmarks(Strict):
    """Snakemake's benchmark files of one rule."""

    pattern: Annotated[str, Field(pattern=r"\{\}")]
    """Path, with {} where the name stands."""
    names: list[str]
    """What stands there, one per file."""

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
    checksum: Path | None = None
    """Where the digest of the table's content stands."""
    command: Text
    """What rebuilds it."""
    benchmarks: list[Benchmarks] = []
    """Run times of everything that it was made by."""


class FigureSources(Strict):
    """All figures, in their order."""

    figures: list[FigureSource]
    """All of them."""

    @property
    def files(self) -> list[str]:
        """Their pictures, tables and checksums."""
        paths = ((item.picture, item.table, item.checksum) for item in self.figures)
        return [str(path) for three in paths for path in three if path]

    def at(self, files: Iterable[str]) -> "FigureSources":
        """The same figures, where a storage provider has put their files.

        Args:
            files: paths in the order of `files`.
        """
        moved = dict(zip(self.files, files, strict=True))
        return FigureSources(
            figures=[
                item.model_copy(
                    update={
                        kind: Path(moved[str(path)])
                        for kind in ("picture", "table", "checksum")
                        if (path := getattr(item, kind))
                    }
                )
                for item in self.figures
            ]
        )

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
    except (OSError, ValueError, SyntaxError, ZeroDivisionError) as error:
        raise unreadable(path, error) from error


def read_csv_file(path: Path, page: Path, checksum: Path | None = None) -> Table:
    """Read the numbers of a figure, to be embedded or linked.

    Args:
        path: of the table.
        page: path of the page, from which a large table is linked.
        checksum: path of the digest of the table's content, if it is to be compared.

    Raises:
        InputError: if it is missing, empty, changed, or its rows are not of one length.
    """
    try:
        content = path.read_bytes()
        header, *rows = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
        if not rows or any(len(row) != len(header) for row in rows):
            raise ValueError("its rows are missing or not of one length")
    except (OSError, ValueError, csv.Error) as error:
        raise unreadable(path, error) from error
    if checksum and checksum.read_text().strip() != hashlib.sha256(content).hexdigest():
        raise InputError(f"{path} was changed after it was made; delete it and run again")
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
    """Width and height in print, of a whole PNG."""
    with Image.open(io.BytesIO(content), formats=["png"]) as image:
        image.verify()
        scales = [_SCREEN / (dots or _SCREEN) for dots in image.info.get("dpi", (_SCREEN, _SCREEN))]
        width, height = (
            round(side * scale) for side, scale in zip(image.size, scales, strict=True)
        )
    return width, height


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


def figure_sources(jobs: "Jobs", study: str) -> FigureSources:
    """All figures of a study, from the table of jobs.

    Args:
        jobs: the table.
        study: name of the study.
    """
    return FigureSources(figures=[_figure_source(jobs, below) for below in jobs.shown(study)])


def templates() -> list[str]:
    """Files that the page is made from; digests of code follow Python's imports only."""
    folder = Path(os.path.relpath(Path(__file__).parent / "templates"))
    kinds = {".html", ".css", ".js", ".svg"}
    return sorted(str(path) for path in folder.iterdir() if path.suffix in kinds)


def _figure_source(jobs: "Jobs", below: str) -> FigureSource:
    """One figure, by its path below `figures/` without ending."""
    study, name = jobs.figures[below]
    figure = study.figures[name]
    return FigureSource(
        name=name,
        drawing=figure.drawing,
        picture=Path(f"figures/{below}.{figure.picture}"),
        table=Path(f"figures/{below}.csv"),
        checksum=Path(f"results/checksums/{below}.sha256"),
        command=f"snakemake figures/{below}.pdf",
        benchmarks=_benchmarks(jobs, below, figure.picture),
    )


def _benchmarks(jobs: "Jobs", below: str, kind: str) -> list[Benchmarks]:
    """Of all jobs that make a figure from nothing; none where verdicts are among them."""
    made = dict(jobs.closure([f"figures/{below}.csv"]))
    if any(task.stage == "verdict" for task in made.values()):
        return []
    names: dict[str, list[str]] = {f"logs/figures/{below}.{{}}.benchmark.tsv": ["csv", kind]}
    for path, task in made.items():
        if task.stage != "table":
            place, _, name = path.removeprefix("results/").rpartition("/")
            pattern = f"logs/{place}/{{}}.benchmark.tsv"
            names.setdefault(pattern, []).append(name.rpartition(".")[0])
    return [Benchmarks(pattern=pattern, names=found) for pattern, found in names.items()]
