"""Pictures, tables and run times of the page, read and checked."""

import io
import os
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from PIL import Image

from replication.base.storage import unreadable_error
from replication.base.strict import Strict
from replication.base.tables import read_csv
from replication.judge.verdicts import Outcome
from replication.plan.cost import Cost
from replication.plan.recorded_times import Records, known_seconds
from replication.run.work import refuse_changed_table
from replication.study.contract import StudySettings
from replication.study.registry import Mark

LARGEST_EMBEDDED = 256 * 1024
"""Largest size in bytes of a table within the page; a larger one is linked."""
UNQUOTED = " ()/:;,=@!$*+?[]{}|^`"
"""Characters that stay unquoted in a table's data URI, which is a fifth shorter than base64."""
SCREEN, PRINT = 96, 72
"""Pixels of CSS, and points of an SVG, in an inch."""


class FigureSource(Strict):
    """One figure with the paths of its files."""

    name: str
    """Name of the figure in the claims."""
    kind: str
    """Kind of the figure; its texts have this name."""
    picture: Path
    """Path of the SVG or PNG."""
    table: Path
    """Path of the CSV that the figure draws."""
    checksum: Path
    """Path of the digest of the table's content."""
    command: str
    """Command that rebuilds the figure."""
    benchmarks: dict[str, list[str]]
    """Snakemake's benchmark files of all jobs behind the figure: names, by path with {} in place of
    the name."""
    program: str = ""
    """Module that draws the figure."""
    experiments: list[str] = []
    """Experiments that the figure shows."""
    published: Path | None = None
    """Path of the numbers as the paper prints them, if they are known."""
    published_columns: list[str] = []
    """Columns of the published numbers."""
    n_seeds: int = 0
    """Number of seeds that the figure shows."""


class MissingFigure(Strict):
    """A figure that cannot be drawn."""

    name: str
    """Name of the figure in the claims."""
    kind: str
    """Kind of the missing figure; its texts have this name."""
    reason: str
    """The error, and the remedy."""


class ContestedClaim(Strict):
    """A claim of a paper that holds in part, does not hold, or is open."""

    id: str
    """Number of the claim."""
    verdict: Outcome
    """Verdict on the claim."""
    statement: str
    """Statement of the claim."""
    how_much: str
    """Number of the comparisons that hold, and the decisions of the others, in words."""
    found: str
    """Least favourable estimate, with its interval."""
    needed: str
    """Range in which that estimate has to lie."""


class OtherPage(Strict):
    """The page of another study."""

    title: str
    """Title of the study's paper."""
    page: str = ""
    """Name of the page's file, if it stands beside this page."""
    command: str
    """Command that makes the page, which may be missing."""
    is_same_paper: bool = False
    """True if both studies are on one paper."""
    counts: dict[int, dict[Outcome, int]] = {}
    """Number of the study's claims by place in `GROUPS` and verdict, as far as they are known."""
    contested: list[ContestedClaim] = []
    """The paper's claims that hold in part, do not hold, or are open."""
    marks: dict[str, Mark] = {}
    """Marks of the sentences of the paper's abstract that the study decides, by their words."""
    search: str = ""
    """Text that a search looks through."""

    @property
    def n_claims(self) -> int:
        """Number of the study's claims, as far as they are known."""
        return sum(sum(row.values()) for row in self.counts.values())


class FigureSources(Strict):
    """All figures of a study, in their order."""

    figures: list[FigureSource]
    """Figures that can be shown."""
    study: str
    """Name of the study."""
    settings: dict[str, Any]
    """The study's section of the configuration."""
    names: dict[str, str] = {}
    """Names of values in the study's texts."""
    others: list[OtherPage] = []
    """Pages of the project's other studies."""
    missing: list[MissingFigure] = []
    """Figures that cannot be drawn."""
    costs: list[Cost] = []
    """Time and memory of the study's jobs, as recorded."""
    own: StudySettings = StudySettings()
    """Claims and texts that a user adds to the study's registry."""

    @property
    def files(self) -> list[str]:
        """Paths of pictures, tables and checksums."""
        paths = ((item.picture, item.table, item.checksum) for item in self.figures)
        return [str(path) for three in paths for path in three]

    def with_paths(self, files: Iterable[str]) -> "FigureSources":
        """Return the same figures, with the paths where a storage provider has put their files.

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
    """Data URI of the picture."""
    width: int
    """Width in pixels of CSS."""
    height: int
    """Height in pixels of CSS."""


class Table(NamedTuple):
    """A table within the page or beside it."""

    name: str
    """Name of its file."""
    link: str
    """Data URI of the table, or its path from the page."""
    embedded: bool
    """True if the table is within the page."""
    rows: int
    """Number of rows."""
    columns: list[str]
    """Names of its columns."""


def read_picture(path: Path) -> Picture:
    """Read a whole SVG or PNG that was drawn here.

    Raises:
        InputError: if the file is missing, damaged or neither of the two.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".png":
            return Picture(_data_uri("image/png", content), *_png_size(content))
        return Picture(_data_uri("image/svg+xml", content), *_svg_size(content))
    except (OSError, ValueError, SyntaxError, KeyError) as error:
        raise unreadable_error(path, error) from error


def read_numbers(path: Path, checksum: Path, page: Path) -> Table:
    """Read the numbers of a figure, to be embedded or linked.

    Args:
        path: path of the table.
        checksum: path of the digest of the table's content.
        page: path of the page, from which a large table is linked.

    Raises:
        InputError: if the table is missing, empty, or changed.
    """
    table = read_csv(path, ())
    refuse_changed_table(path, checksum)
    embedded = path.stat().st_size <= LARGEST_EMBEDDED
    link = (
        f"data:text/csv;charset=utf-8,{quote(path.read_bytes(), safe=UNQUOTED)}"
        if embedded
        else Path(os.path.relpath(path, page.parent)).as_posix()
    )
    return Table(path.name, link, embedded, len(table), list(map(str, table)))


def run_time(benchmarks: dict[str, list[str]], records: Records) -> float | None:
    """Return the seconds of all jobs behind a figure; none unless those of every job are known.

    Args:
        benchmarks: see `FigureSource`.
        records: of jobs elsewhere.
    """
    seconds = [
        known_seconds(pattern.replace("{}", name), records)
        for pattern, names in benchmarks.items()
        for name in names
    ]
    known = [each for each in seconds if each is not None]
    return sum(known) if known and len(known) == len(seconds) else None


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _png_size(content: bytes) -> tuple[int, int]:
    """Return width and height of a whole PNG as printed, in pixels of CSS."""
    with Image.open(io.BytesIO(content), formats=["png"]) as image:
        image.verify()
        across, down = (SCREEN / dots for dots in image.info.get("dpi", (SCREEN, SCREEN)))
        return round(image.width * across), round(image.height * down)


def _svg_size(content: bytes) -> tuple[int, int]:
    root = Xml.fromstring(content)
    width, height = (root.attrib[side].removesuffix("pt") for side in ("width", "height"))
    return round(float(width) * (SCREEN / PRINT)), round(float(height) * (SCREEN / PRINT))
