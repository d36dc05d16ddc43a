"""A study as its page shows it: a bundle with pictures, from a run or from the reference."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

from PIL import Image

from replication.base.errors import InputError
from replication.base.storage import unreadable_error
from replication.bundle.bundle import Bundle, figure_path
from replication.bundle.computed import read_finished
from replication.bundle.paper_scale import with_paper_scale
from replication.documents.figure_texts import CitedFigure
from replication.judge.verdicts import Outcome
from replication.plan.configuration import Configuration, configuration_type
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.steps import Step
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records, known_seconds
from replication.report.context import ClaimInShort
from replication.study.registry import FigureText, Mark
from replication.study.studies import find_studies

INDEX = "index.html"
"""Name of the page that lists all papers."""
SCREEN, PRINT = 96, 72
"""Pixels of CSS, and points of an SVG, in an inch."""


@dataclass(frozen=True)
class Site:
    """The pages that are made together."""

    pages: Sequence[str] = ()
    """Names of the studies whose pages are made, or there."""
    index: str = ""
    """Link to the index; empty if there is none beside the pages."""
    command: str = "snakemake results/report/{}.html"
    """Command that makes the page of a study; `{}` stands for its name."""

    def link(self, study: str) -> str:
        """Return the link to a study: to its page, or its place in the index, or none."""
        if study in self.pages:
            return f"{study}.html"
        return f"{self.index}#{study}" if self.index else ""


class RelatedPage(NamedTuple):
    """The page of another study of the same paper."""

    title: str
    """Title of the study."""
    link: str
    """Link to the page, or to the study's place in the index; empty if neither is there."""
    has_page: bool
    """True if the link leads to the page."""
    counts: Mapping[int, Mapping[Outcome, int]] = {}
    """Number of the study's claims by place in `GROUPS` and verdict, as far as they are known."""
    contested: Sequence[ClaimInShort] = ()
    """The paper's claims that hold in part, do not hold, or are open."""
    marks: Mapping[str, Mark | None] = {}
    """Marks of the sentences of the paper's abstract that the study decides, by their words."""
    search: str = ""
    """Text that a search looks through."""


class ShownFigure(NamedTuple):
    """The files of one figure that a page shows."""

    name: str
    """Name of the figure."""
    picture: Path
    """Path of the SVG or PNG."""
    table: Path
    """Path of the CSV that the figure draws."""
    seconds: float | None = None
    """Time of all jobs behind the figure, if it is known."""


class ShownStudy(NamedTuple):
    """A study with everything that its page shows."""

    study: StudyJobs
    """Jobs of the study."""
    bundle: Bundle
    """Numbers and verdicts of the study."""
    figures: Sequence[ShownFigure]
    """Figures that can be shown."""
    site: Site = Site()
    """Pages beside this one."""
    missing: Mapping[str, str] = {}
    """Reasons, with the remedy, why figures are not shown, by name."""
    related: Sequence[RelatedPage] = ()
    """Pages of the other studies of the same paper."""
    cost: str = ""
    """Time and memory of all jobs of the study, in words."""

    def text(self, figure: str) -> FigureText:
        """Return the texts of a figure: a user's own, or the registry's.

        Raises:
            InputError: if the registry says nothing of figures of this kind.
        """
        own: FigureText | None = self.study.settings.texts.get(figure)
        kind = self.study.figures[figure].kind
        return own or self.study.registry.figure_text(figure, kind)

    def cited(self, figure: str) -> FigureText:
        """Return the texts of a figure with the numbers that they cite.

        Raises:
            InputError: if there are no texts, or a cited value is missing.
        """
        numbers = self.bundle.tables[figure_path(figure)]
        cited = CitedFigure.of(self.study, figure, numbers, self.bundle.verdicts.get)
        return cited.cite(self.text(figure))


def plan_again(facts: Mapping[str, Any], *names: str) -> Jobs:
    """Return the table of jobs of some studies, of all if none is named.

    `facts` has the `configuration` of a run, and the `root` of the project.
    """
    found = find_studies()
    studies = {name: found[name] for name in names or found}
    parts = {name: facts["configuration"][name] for name in (*Configuration.model_fields, *studies)}
    configuration = configuration_type(studies).parse(parts, "configuration")
    return Jobs.of(configuration, studies, with_paper_scale(Path(facts["root"])))


def folder_of(step: Step) -> Path:
    """Return the folder in which a storage provider has put the files of a step, or this one."""
    return Path(step.inputs[0].path.removesuffix(step.facts["first"]))


def show_run(jobs: Jobs, name: str, folder: Path, site: Site) -> ShownStudy:
    """Return a study of a run whose figures and verdicts lie in a folder.

    Raises:
        InputError: if one of them is missing, damaged or changed.
    """
    study, records = jobs.studies[name], Records.of(find_studies().values())
    figures = [
        ShownFigure(
            figure,
            folder / picture_path(study, figure),
            folder / study.table(figure),
            figure_seconds(jobs, study, figure, records),
        )
        for figure in study.figures
    ]
    cost = cost_in_words(cost_of_study(jobs, name, records))
    return ShownStudy(study, read_finished(study, folder), figures, site, cost=cost)


def picture_path(study: StudyJobs, figure: str) -> str:
    """Return the path of the picture of a figure that pages show."""
    return study.table(figure).removesuffix("csv") + study.figures[figure].picture


def figure_seconds(jobs: Jobs, study: StudyJobs, figure: str, records: Records) -> float | None:
    """Return the seconds of all jobs behind a figure; none unless those of every job are known.

    None either where verdicts are among them, which rest on all that is computed.
    """
    table = study.table(figure)
    made = dict(jobs.closure([table]))
    if any(task.stage == "verdict" for task in made.values()):
        return None
    paths = [path for path, task in made.items() if task.stage != "table"]
    names = [path.removeprefix("results/").rpartition(".")[0] for path in paths]
    names += [table, picture_path(study, figure)]
    return sum_of_seconds([f"logs/{name}.benchmark.tsv" for name in names], records)


def sum_of_seconds(benchmarks: Sequence[str], records: Records) -> float | None:
    """Return the seconds of some jobs together; none unless those of every job are known."""
    known = [known_seconds(path, records) for path in benchmarks]
    seconds = [each for each in known if each is not None]
    return sum(seconds) if seconds and len(seconds) == len(known) else None


class Picture(NamedTuple):
    """A picture beside the page."""

    link: str
    """Path of the picture from the page."""
    width: int
    """Width in pixels of CSS."""
    height: int
    """Height in pixels of CSS."""


def read_picture(path: Path, folder: str) -> Picture:
    """Return the link to a whole SVG or PNG that stands in a folder beside the page, and its size.

    Raises:
        InputError: if the file is missing, damaged or neither of the two.
    """
    try:
        content = path.read_bytes()
        size = _png_size(content) if path.suffix == ".png" else _svg_size(content)
        return Picture(f"{folder}/{path.name}", *size)
    except (OSError, ValueError, SyntaxError, KeyError) as error:
        raise unreadable_error(path, error) from error


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


def text_error(shown: ShownStudy, figure: str) -> str:
    """Return what a figure or its caption lacks, in words; empty if it lacks nothing."""
    try:
        if shown.study.text(figure):
            shown.cited(figure)
    except InputError as error:
        return error.message
    return ""
