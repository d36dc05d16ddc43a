"""A study's results as its page shows them: every claim with its verdict, and every figure."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

import pandas as pd
import yaml
from PIL import Image

from replication.base.storage import read_csv
from replication.bundle.bundle import Bundle, figure_path
from replication.documents.pages import is_contested
from replication.documents.texts import cite_figure, figure_settings
from replication.figures.typeset import number, power_of_ten
from replication.judge.verdicts import (
    Comparison,
    Verdict,
    estimate_and_range,
    least_favourable_first,
)
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import Claim

MOST_SHOWN = 100
"""Largest number of a claim's comparisons that a page shows; all are in the table beside it."""
MOST_MARKS = 5
"""Largest number of intervals between the marks of an axis."""
_DECADES_FROM = 1000
SCREEN, PRINT = 96, 72
"""Pixels of CSS, and points of an SVG, in an inch."""


class Shown(NamedTuple):
    """A study with its bundle, and the folder that has its pictures and tables as a run does."""

    study: StudyJobs
    bundle: Bundle
    folder: Path


class Axis(NamedTuple):
    """An axis from its first to its last mark, which are logarithms on a logarithmic axis."""

    marks: list[float]
    is_logarithmic: bool

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> "Axis":
        """Return the axis that all comparisons of a claim share.

        It is logarithmic where no number is negative and the positive ones span three decades.
        """
        values = [
            value
            for item in comparisons
            for value in (item.estimate, item.low, item.high, item.lower, item.upper)
            if value is not None
        ]
        positive = [value for value in values if value > 0]
        is_logarithmic = bool(
            positive and min(values) >= 0 and max(positive) > _DECADES_FROM * min(positive)
        )
        scaled = [*map(math.log10, positive)] if is_logarithmic else values
        first, last = min(scaled), max(scaled)
        around = 0.0 if first < last else abs(first) / 2 or 1.0
        # Late: the end of a run says its outcome in words, and need not wait for Matplotlib.
        from matplotlib.ticker import MaxNLocator

        locator = MaxNLocator(MOST_MARKS, steps=[1, 2, 5, 10], integer=is_logarithmic)
        marks = locator.tick_values(first - around, last + around)
        return cls([*map(float, marks)], is_logarithmic)

    def place(self, value: float) -> float:
        """Return the place of a value in percent; a value beyond the axis is at the axis' end."""
        if self.is_logarithmic:
            value = math.log10(value) if value > 0 else -math.inf
        share = (value - self.marks[0]) / (self.marks[-1] - self.marks[0])
        return round(100 * min(max(share, 0), 1), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Place in percent and number of each mark."""
        values = [10.0**mark for mark in self.marks] if self.is_logarithmic else self.marks
        name = power_of_ten if self.is_logarithmic else number
        return [(self.place(value), name(value)) for value in values]


def claim_view(study: StudyJobs, claim: Claim, found: Verdict | None) -> dict[str, Any]:
    """Return a claim with its verdict, by the names that templates call the parts.

    A claim without a verdict says why. `place` is the kind of the place that states the claim:
    Lemma for 'Lemma 3' and for 'Lemmas 3 and 5'. `shown` has all comparisons, or else the least
    favourable ones, in their order.
    """
    verdict = found or Verdict.without_evidence(claim.id, str(claim.not_tested))
    kept = {id(item) for item in least_favourable_first(verdict.comparisons)[:MOST_SHOWN]}
    shown = [item for item in verdict.comparisons if id(item) in kept]
    place = claim.where.split()[0].rstrip(".:,")
    return {
        "claim": claim,
        "verdict": verdict,
        "figure": figure_of(study, claim),
        "words": claim.headline or claim.statement,
        "summary": f"{verdict.summary}{'.' if claim.test else ''}",
        "scale": study.registry.scale_of(claim, verdict.seeds) if claim.test else "",
        "at_paper_scale": study.registry.at_paper_scale.get(claim.id, ""),
        "is_contested": is_contested(claim, verdict),
        "place": place.removesuffix("s") if place.istitle() else "Other place",
        "found_and_needed": estimate_and_range(verdict.comparisons, number),
        "shown": shown,
        "axis": Axis.of(shown) if shown else None,
    }


def figure_of(study: StudyJobs, claim: Claim) -> str:
    """Return the figure that a claim is shown at: the one that it names, or the first of that kind.

    The name is empty if there is no such figure.
    """
    if claim.figure and claim.figure in study.figures:
        return claim.figure
    kinds = {name: figure.kind for name, figure in study.figures.items()}
    return next((name for name, kind in kinds.items() if kind == claim.figure), "")


def picture_path(study: StudyJobs, figure: str) -> str:
    """Return the path of the picture of a figure that pages show."""
    return study.table(figure).removesuffix("csv") + study.figures[figure].picture


def figure_view(shown: Shown, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a figure with its texts and its numbers, by the names that templates call them.

    Raises an `InputError` if the figure has no texts, or texts that cite a missing value.
    """
    study, figure = shown.study, shown.study.figures[name]
    numbers = shown.bundle.tables[figure_path(name)]
    text = study.text(name) or study.registry.figure_text(name, figure.kind)
    picture = shown.folder / picture_path(study, name)
    width, height = _picture_size(picture)
    link = f"{study.study.name}/{picture.name}"
    return {
        "name": name,
        "command": f"snakemake {study.table(name).removesuffix('csv')}pdf",
        "text": cite_figure(study, name, text, numbers, shown.bundle.verdicts.get),
        "picture": {"link": link, "width": width, "height": height},
        "link": f"{study.study.name}/{name}.csv",
        "numbers": numbers,
        "overlay": overlay(study, name, settings),
        "beside": beside_paper(study, name, numbers),
        "program": type(figure).__module__,
    }


def overlay(study: StudyJobs, figure: str, settings: Mapping[str, Any]) -> str:
    """Return the settings of a figure and of its experiments as an overlay; empty for none."""
    if not (own := figure_settings(settings, figure)):
        return ""
    named = {source for source, _ in study.figures[figure].sources()}
    known = settings.get("experiments", {}).items()
    experiments = {name: each for name, each in known if name in named}
    part = {"experiments": experiments} if experiments else {}
    whole = {study.study.name: {**part, "figures": {figure: own}}}
    return str(yaml.dump(whole, sort_keys=False, default_flow_style=None, width=100))


class Beside(NamedTuple):
    """The paper's numbers beside ours, row by row, and their largest differences by column."""

    table: pd.DataFrame
    largest: dict[str, float]


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


def _picture_size(path: Path) -> tuple[int, int]:
    """Return width and height of an SVG or PNG as printed, in pixels of CSS."""
    if path.suffix == ".png":
        with Image.open(path) as image:
            across, down = (SCREEN / dots for dots in image.info.get("dpi", (SCREEN, SCREEN)))
            return round(image.width * across), round(image.height * down)
    given = Xml.parse(path).getroot().attrib
    width, height = (float(given[side].removesuffix("pt")) for side in ("width", "height"))
    return round(width * (SCREEN / PRINT)), round(height * (SCREEN / PRINT))
