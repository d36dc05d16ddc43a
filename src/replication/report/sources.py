"""Pictures, tables and run times of the page, read and checked."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

from PIL import Image

from replication.base.storage import unreadable_error
from replication.base.strict import Strict
from replication.base.tables import read_csv
from replication.judge.verdicts import Outcome
from replication.plan.stale_files import refuse_changed_table
from replication.plan.times import Records, known_seconds
from replication.study.contract import Added
from replication.study.registry import Mark

INDEX = "index.html"
"""Name of the page that lists all papers."""
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
    n_seeds: int | str = 0
    """Number of seeds that the figure shows, see `StudyJobs.number_of_seeds`."""


class MissingFigure(Strict):
    """A figure that cannot be drawn."""

    name: str
    """Name of the figure in the claims."""
    kind: str
    """Kind of the missing figure; its texts have this name."""
    reason: str
    """The error, and the remedy."""


class ClaimInShort(Strict):
    """A claim and its verdict in a line."""

    id: str
    """Number of the claim."""
    verdict: Outcome
    """Verdict on the claim."""
    words: str
    """Headline of the claim, or else its statement."""
    quantity: str
    """Measured quantity, with its unit."""
    how_much: str
    """Number of the comparisons that hold, and the decisions of the others, in words."""
    found: str
    """Least favourable estimate, with its interval."""
    needed: str
    """Range in which the least favourable estimate has to lie."""


class Site(Strict):
    """The pages that are made together."""

    pages: list[str] = []
    """Names of the studies whose pages are made, or there."""
    command: str = ""
    """Command that makes the page of a study; `{}` stands for its name."""
    index: str = ""
    """Link to the index; empty if there is none beside the pages."""

    def link(self, study: str) -> str:
        """Return the link to a study: to its page, or its place in the index, or none."""
        if study in self.pages:
            return f"{study}.html"
        return f"{self.index}#{study}" if self.index else ""


class RelatedPage(Strict):
    """The page of another study of the same paper."""

    title: str
    """Title of the study."""
    link: str
    """Link to the page, or to the study's place in the index; empty if neither is there."""
    has_page: bool
    """True if the link leads to the page."""
    counts: dict[int, dict[Outcome, int]] = {}
    """Number of the study's claims by place in `GROUPS` and verdict, as far as they are known."""
    contested: list[ClaimInShort] = []
    """The paper's claims that hold in part, do not hold, or are open."""
    marks: dict[str, Mark] = {}
    """Marks of the sentences of the paper's abstract that the study decides, by their words."""
    search: str = ""
    """Text that a search looks through."""


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
    site: Site = Site()
    """Pages beside this one."""
    related: list[RelatedPage] = []
    """Pages of the other studies of the same paper."""
    missing: list[MissingFigure] = []
    """Figures that cannot be drawn."""
    cost: str = ""
    """Time and memory of all jobs of the study, in words."""
    own: Added = Added()
    """All that the configuration adds to the study's registry."""

    @property
    def files(self) -> list[str]:
        """Paths of pictures, tables and checksums."""
        paths = ((item.picture, item.table, item.checksum) for item in self.figures)
        return [str(path) for three in paths for path in three]

    @property
    def files_of_page(self) -> dict[str, Path]:
        """Paths of the pictures and tables that stand in the folder of the page, by their names."""
        both = ((item.picture, item.table) for item in self.figures)
        return {path.name: path for two in both for path in two}

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


class IndexSources(Strict):
    """All studies of the project, as the index shows them."""

    site: Site
    """Pages that the index links to."""
    costs: dict[str, str]
    """Time and memory of all jobs of a study, in words, by its name."""
    verdicts: dict[str, list[Path]] = {}
    """Paths of the verdicts of the studies whose pages are made; of others the references tell."""
    pictures: dict[str, Path] = {}
    """Paths of the pictures of scorecards, which stand in the folders of the pages."""


class Picture(NamedTuple):
    """A picture beside the page."""

    link: str
    """Path of the picture from the page."""
    width: int
    """Width in pixels of CSS."""
    height: int
    """Height in pixels of CSS."""


class Table(NamedTuple):
    """A table beside the page."""

    name: str
    """Name of the table's file."""
    link: str
    """Path of the table from the page."""
    rows: int
    """Number of rows."""
    columns: list[str]
    """Names of the table's columns."""


def read_picture(path: Path, folder: str) -> Picture:
    """Read the size of a whole SVG or PNG that was drawn here.

    Args:
        path: path of the picture.
        folder: name of the folder beside the page that the picture stands in.

    Raises:
        InputError: if the file is missing, damaged or neither of the two.
    """
    try:
        content = path.read_bytes()
        size = _png_size(content) if path.suffix == ".png" else _svg_size(content)
        return Picture(f"{folder}/{path.name}", *size)
    except (OSError, ValueError, SyntaxError, KeyError) as error:
        raise unreadable_error(path, error) from error


def read_numbers(path: Path, checksum: Path, folder: str) -> Table:
    """Read the numbers of a figure, to be linked.

    Args:
        path: path of the table.
        checksum: path of the digest of the table's content.
        folder: name of the folder beside the page that the table stands in.

    Raises:
        InputError: if the table is missing, empty, or changed.
    """
    table = read_csv(path, ())
    refuse_changed_table(path, checksum)
    return Table(path.name, f"{folder}/{path.name}", len(table), list(map(str, table)))


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
