"""The figures of a study, as its page shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

import pandas as pd
import yaml
from PIL import Image

from replication.base.storage import read_csv
from replication.bundle.bundle import Bundle, figure_path
from replication.documents.texts import cite_figure, figure_settings
from replication.plan.study_jobs import StudyJobs

SCREEN, PRINT = 96, 72
"""Pixels of CSS, and points of an SVG, in an inch."""


@dataclass(frozen=True)
class Shown:
    """A study with its bundle, and the folder that has its pictures and tables as a run does."""

    study: StudyJobs
    bundle: Bundle
    folder: Path

    @property
    def files(self) -> list[Path]:
        """Paths of all pictures and tables."""
        return [
            self.folder / path
            for name in self.study.figures
            for path in (picture_path(self.study, name), self.study.table(name))
        ]


class Beside(NamedTuple):
    """The paper's numbers beside ours, row by row, and their largest differences by column."""

    table: pd.DataFrame
    largest: dict[str, float]


def picture_path(study: StudyJobs, figure: str) -> str:
    """Return the path of the picture of a figure that pages show."""
    return study.table(figure).removesuffix("csv") + study.figures[figure].picture


def show_figure(shown: Shown, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure with its texts and its numbers, by the names that templates call them.

    Raises an `InputError` if the figure has no texts, or texts that cite a missing value.
    """
    study, figure = shown.study, shown.study.figures[name]
    numbers = shown.bundle.tables[figure_path(name)]
    text = study.text(name) or study.registry.figure_text(name, figure.kind)
    picture = shown.folder / picture_path(study, name)
    width, height = picture_size(picture)
    return {
        "name": name,
        "command": f"snakemake {study.table(name).removesuffix('csv')}pdf",
        "text": cite_figure(study, name, text, numbers, shown.bundle.verdicts.get),
        "picture": {
            "link": f"{study.study.name}/{picture.name}",
            "width": width,
            "height": height,
        },
        "link": f"{study.study.name}/{name}.csv",
        "numbers": numbers,
        "overlay": overlay(study, name, settings),
        "beside": beside_paper(study, name, numbers),
        "program": type(figure).__module__,
    }


def overlay(study: StudyJobs, figure: str, settings: Mapping[str, Any]) -> str:
    """Return the settings of a figure and of its experiments as an overlay; empty for none."""
    own = figure_settings(settings, figure)
    named = {source for source, _ in study.figures[figure].sources()}
    known = settings.get("experiments", {}).items()
    experiments = {name: each for name, each in known if name in named}
    part = {"experiments": experiments, "figures": {figure: own}}
    whole = {study.study.name: {name: each for name, each in part.items() if each}}
    return str(yaml.dump(whole, sort_keys=False, default_flow_style=None, width=100)) if own else ""


def beside_paper(study: StudyJobs, name: str, ours: pd.DataFrame) -> Beside | None:
    """Return the paper's numbers beside ours; none if it printed none for these settings and rows.

    The columns that name a row are the first ones, as few as tell all rows of the paper's apart.
    """
    figure = study.figures[name]
    columns = list(figure.published_columns)
    differs = f"figure {name}" in study.unlike_published
    if not figure.published or differs or not {*columns} <= {*ours.columns}:
        return None
    paper = read_csv(study.study.folder / "published" / figure.published, columns)[columns]
    counts = range(1, len(columns))
    keys = next((columns[:n] for n in counts if not paper.duplicated(columns[:n]).any()), [])
    if not keys:
        return None
    both = ours.merge(paper, on=keys, suffixes=(", ours", ", the paper's"))
    table, values = both[keys].copy(), columns[len(keys) :]
    for value in values:
        pair = [f"{value}, ours", f"{value}, the paper's"]
        table[pair] = both[pair]
        table[f"{value}, difference"] = both[pair[0]] - both[pair[1]]
    table = table.dropna()
    largest = {value: float(table[f"{value}, difference"].abs().max()) for value in values}
    return None if table.empty else Beside(table, largest)


def picture_size(path: Path) -> tuple[int, int]:
    """Return width and height of an SVG or PNG as printed, in pixels of CSS."""
    if path.suffix == ".png":
        with Image.open(path) as image:
            across, down = (SCREEN / dots for dots in image.info.get("dpi", (SCREEN, SCREEN)))
            return round(image.width * across), round(image.height * down)
    given = Xml.parse(path).getroot().attrib
    width, height = (float(given[side].removesuffix("pt")) for side in ("width", "height"))
    return round(width * (SCREEN / PRINT)), round(height * (SCREEN / PRINT))
