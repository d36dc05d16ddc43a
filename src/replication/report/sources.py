"""What the page is made of: pictures, tables and run times, read and checked."""

import io
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from PIL import Image

from replication.base.storage import unreadable
from replication.base.strict import Strict
from replication.base.tables import read_csv
from replication.judge.verdicts import Outcome
from replication.plan.cost import Cost
from replication.plan.recorded_times import known_seconds
from replication.run.program import refuse_changed
from replication.study.contract import StudySettings
from replication.study.registry import Mark

LARGEST_EMBEDDED = 256 * 1024
"""Bytes up to which a table is part of the page; a larger one is linked."""
UNQUOTED = " ()/:;,=@!$*+?[]{}|^`"
"""What a table's data URI has as it is, so that it is a fifth shorter than in base64."""
SCREEN, PRINT = 96, 72
"""Pixels of CSS, and points of an SVG, in an inch."""


class FigureSource(Strict):
    """One figure and what belongs to it."""

    name: str
    """What the claims call it."""
    drawing: str
    """What it is drawn as; its texts have this name."""
    picture: Path
    """SVG or PNG."""
    table: Path
    """The numbers that it draws, as CSV."""
    checksum: Path
    """Where the digest of the table's content stands."""
    command: str
    """What rebuilds it."""
    benchmarks: dict[str, list[str]]
    """Snakemake's benchmark files of everything that it was made by: paths, with {} in place of
    these names."""
    program: str = ""
    """Module that draws it."""
    experiments: list[str] = []
    """What it shows."""
    published: Path | None = None
    """Its numbers as the paper prints them, if they are known."""
    published_columns: list[str] = []
    """The columns that these have."""
    n_seeds: int = 0
    """Number of seeds that it shows."""


class MissingFigure(Strict):
    """A figure that cannot be drawn."""

    name: str
    """What the claims call it."""
    drawing: str
    """What it would be drawn as; its texts have this name."""
    reason: str
    """What is wrong, and what to do."""


class ContestedClaim(Strict):
    """A claim of a paper that holds in part, does not hold, or is open."""

    id: str
    """Its number."""
    verdict: Outcome
    """What came of it."""
    statement: str
    """What is claimed."""
    how_much: str
    """How much of it holds."""
    found: str
    """Its least favourable estimate, with its interval."""
    needed: str
    """Where that has to lie."""


class OtherPage(Strict):
    """The page of another study."""

    title: str
    """Of the study's paper."""
    page: str = ""
    """Its file, where it stands beside this page."""
    command: str
    """What makes it, where it may not be there."""
    is_same_paper: bool = False
    """Whether both studies are on one paper."""
    counts: dict[int, dict[Outcome, int]] = {}
    """Number of its claims by place in `GROUPS` and verdict, as far as they are known."""
    contested: list[ContestedClaim] = []
    """Those of the paper that hold in part, do not hold, or are open."""
    marks: dict[str, Mark] = {}
    """Marks of the sentences of its paper's abstract that it decides, by their words."""
    search: str = ""
    """What a search looks through."""

    @property
    def n_claims(self) -> int:
        """Number of its claims, as far as they are known."""
        return sum(sum(row.values()) for row in self.counts.values())


class FigureSources(Strict):
    """All figures of a study, in their order."""

    figures: list[FigureSource]
    """All of them."""
    study: str
    """Name of the study."""
    settings: dict[str, Any]
    """The study's section of the configuration."""
    names: dict[str, str] = {}
    """What its texts call values."""
    others: list[OtherPage] = []
    """Pages of the project's other studies."""
    missing: list[MissingFigure] = []
    """Figures that cannot be drawn."""
    costs: list[Cost] = []
    """What the study takes, as recorded."""
    own: StudySettings = StudySettings()
    """What a user adds to the study's registry."""

    @property
    def files(self) -> list[str]:
        """Their pictures, tables and checksums."""
        paths = ((item.picture, item.table, item.checksum) for item in self.figures)
        return [str(path) for three in paths for path in three]

    def at(self, files: Iterable[str]) -> "FigureSources":
        """The same figures, where a storage provider has put their files.

        Args:
            files: paths in the order of `files`.
        """
        paths = map(Path, files)
        kinds = ("picture", "table", "checksum")
        figures = [
            item.model_copy(update={kind: next(paths) for kind in kinds}) for item in self.figures
        ]
        return self.model_copy(update={"figures": figures})


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
    """Read a whole SVG or PNG, as they are drawn here.

    Raises:
        InputError: if it is missing, damaged or neither.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".png":
            return Picture(_data_uri("image/png", content), *_png_size(content))
        return Picture(_data_uri("image/svg+xml", content), *_svg_size(content))
    except (OSError, ValueError, SyntaxError, KeyError) as error:
        raise unreadable(path, error) from error


def read_numbers(path: Path, checksum: Path, page: Path) -> Table:
    """Read the numbers of a figure, to be embedded or linked.

    Args:
        path: of the table.
        checksum: path of the digest of the table's content.
        page: path of the page, from which a large table is linked.

    Raises:
        InputError: if it is missing, empty, or changed.
    """
    table = read_csv(path, ())
    refuse_changed(path, checksum)
    embedded = path.stat().st_size <= LARGEST_EMBEDDED
    link = (
        f"data:text/csv;charset=utf-8,{quote(path.read_bytes(), safe=UNQUOTED)}"
        if embedded
        else Path(os.path.relpath(path, page.parent)).as_posix()
    )
    return Table(path.name, link, embedded, len(table), list(map(str, table)))


def run_time(benchmarks: dict[str, list[str]], recorded: Mapping[str, float]) -> float | None:
    """Seconds that all jobs took, see `FigureSource`; none unless that of every one is known.

    Args:
        benchmarks: see there.
        recorded: what jobs took elsewhere, by path of the benchmark without its ending.
    """
    seconds = [
        known_seconds(pattern.replace("{}", name), recorded)
        for pattern, names in benchmarks.items()
        for name in names
    ]
    told = [each for each in seconds if each is not None]
    return sum(told) if told and len(told) == len(seconds) else None


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _png_size(content: bytes) -> tuple[int, int]:
    """Width and height in print, of a whole PNG."""
    with Image.open(io.BytesIO(content), formats=["png"]) as image:
        image.verify()
        across, down = (SCREEN / dots for dots in image.info.get("dpi", (SCREEN, SCREEN)))
        return round(image.width * across), round(image.height * down)


def _svg_size(content: bytes) -> tuple[int, int]:
    root = Xml.fromstring(content)
    width, height = (root.attrib[side].removesuffix("pt") for side in ("width", "height"))
    return round(float(width) * (SCREEN / PRINT)), round(float(height) * (SCREEN / PRINT))
