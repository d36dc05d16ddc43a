"""The site from references: nothing is computed, figures are drawn from tables."""

import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

from tqdm import tqdm

from replication.base.commit import commit_name
from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.bundle.bundle import VERDICTS, Bundle, figure_path, reference_folder
from replication.bundle.judged import read_judged_reference
from replication.bundle.paper_scale import with_paper_scale
from replication.documents.figure_texts import CitedFigure
from replication.judge.abstract import decided_sentences
from replication.judge.scorecard_figure import table_of_verdicts
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.stale_files import checksum
from replication.report.index import render_index
from replication.report.page import COMPARISONS, comparisons_table, render
from replication.report.page_rule import figure_sources, index_sources
from replication.report.pictures import Drawing, draw_all
from replication.report.site import (
    folder_of_page,
    refuse_other_page,
    registry_of,
    related_pages,
    write_page,
)
from replication.report.sources import INDEX, FigureSource, FigureSources, MissingFigure, Site
from replication.study.registry import SCORECARD, Registry
from replication.study.studies import Study
from replication.verify.reproductions import reproductions

COMMAND = "python -m replication report --reference"


class StudyReference(NamedTuple):
    """A study and its reference."""

    jobs: Jobs
    """Table of the study's jobs, under its defaults."""
    name: str
    """Name of the study."""
    registry: Registry
    """Registry of the study."""
    folder: Path
    """Folder of the reference."""
    reference: Bundle
    """Content of the reference."""
    site: Site
    """Pages that are made together."""


def write_pages(
    root: Path,
    studies: dict[str, Study],
    names: list[str],
    output: Path,
) -> dict[Path, list[MissingFigure]]:
    """Write the page of each study from its reference: all pages, or none.

    Args:
        root: the project's folder.
        studies: all studies by name.
        names: names of the studies whose pages are wanted.
        output: folder of the pages.

    Returns:
        The figures that cannot be drawn from a reference, by page; the page says so in their place.

    Raises:
        InputError: if a reference is missing or changed, or says nothing of a claim, or the
            folder cannot be written to or has files that no page wrote.
    """
    site = Site(pages=names, command=f"{COMMAND} {{}}", index=INDEX)
    kept = [_read_study(root, studies[name], site) for name in names]
    _add_scorecards(kept)
    _make_folder(output)
    pages = {name: output / f"{name}.html" for name in names}
    refuse_other_page(output / INDEX)
    for page in pages.values():
        refuse_other_page(page)
        folder_of_page(page)
    with TemporaryDirectory() as folder:
        shown = [
            sources.model_copy(update={"related": related_pages(root, each.name, site)})
            for each, sources in zip(kept, _draw_figures(kept, Path(folder)), strict=True)
        ]
        texts = [_page(each, sources, root) for each, sources in zip(kept, shown, strict=True)]
        for each, sources, text in zip(kept, shown, texts, strict=True):
            tables = {COMPARISONS: comparisons_table(each.reference.verdicts.values())}
            write_page(pages[each.name], text, sources.files_of_page, tables)
        write_text(output / INDEX, _index(root, studies, kept, shown, site))
    return {pages[each.name]: sources.missing for each, sources in zip(kept, shown, strict=True)}


def _index(
    root: Path,
    studies: dict[str, Study],
    kept: list[StudyReference],
    shown: list[FigureSources],
    site: Site,
) -> str:
    """Return the index: verdicts are the references', costs those of all studies."""
    drawn = {each.name: sources for each, sources in zip(kept, shown, strict=True)}
    jobs = Jobs.of(configure({}, studies), studies)
    told = index_sources(jobs, site)
    pictures = {
        name: figure.picture
        for name, sources in drawn.items()
        for figure in sources.figures
        if figure.name == SCORECARD
    }
    verdicts = {each.name: each.reference.verdicts for each in kept}
    return render_index(root, told.model_copy(update={"pictures": pictures}), verdicts)


def _make_folder(folder: Path) -> None:
    remedy = "allow it, or choose another --output"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); {remedy}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; {remedy}")


def _read_study(root: Path, study: Study, site: Site) -> StudyReference:
    folder = reference_folder(root, study.name)
    alone = {study.name: study}
    jobs = Jobs.of(configure({}, alone), alone, with_paper_scale(root))
    told = jobs.studies[study.name].registry.at_paper_scale
    registry = registry_of(study).with_added({}, {}, at_paper_scale=told)
    reference = read_judged_reference(root, jobs.studies[study.name])
    tested = [claim.id for claim in registry.claims if claim.test]
    if unjudged := [claim for claim in tested if claim not in reference.verdicts]:
        raise InputError(
            f"{folder / VERDICTS}: has no verdict of claim(s) {', '.join(unjudged)};"
            f" restore it with git, or `{_renewal_command(study.name)}` renews it"
        )
    return StudyReference(jobs, study.name, registry, folder, reference, site)


def _add_scorecards(kept: list[StudyReference]) -> None:
    """Add the tables of scorecards to the references, which hold only what makes them."""
    decided = decided_sentences((each.registry, each.reference.verdicts) for each in kept)
    for each in kept:
        if SCORECARD in each.jobs.studies[each.name].figures:
            made = table_of_verdicts(each.registry, each.reference.verdicts, decided)
            each.reference.tables[figure_path(SCORECARD)] = made


def _renewal_command(study: str) -> str:
    return f"snakemake reference --config study={study}"


def _page(kept: StudyReference, shown: FigureSources, root: Path) -> str:
    study = kept.jobs.studies[kept.name]
    verdicts = {
        Path(study.verdict(claim)): verdict for claim, verdict in kept.reference.verdicts.items()
    }
    origin = {
        "commit": commit_name(root),
        "configuration": "the study's defaults",
        "digest": kept.jobs.configuration.digest,
        "command": f"{COMMAND} {kept.name}",
    }
    machine = kept.reference.depends["machine"]
    verified = reproductions(root, kept.name)
    return render(study.registry, verdicts, shown, verified, origin, machine, root)


def _draw_figures(kept: list[StudyReference], folder: Path) -> list[FigureSources]:
    """Draw the figures of all pages in a folder, from their tables in the references."""
    planned = [figure_sources(each.jobs, each.name, each.site) for each in kept]
    wrong = {
        (each.name, source.name): _text_error(each, source.name)
        for each, sources in zip(kept, planned, strict=True)
        for source in sources.figures
    }
    drawings = {
        (each.name, source.name): _drawing(each, source, folder / each.name)
        for each, sources in zip(kept, planned, strict=True)
        for source in sources.figures
        if not wrong[each.name, source.name]
    }
    wrong |= _draw_and_tell(drawings)
    return [
        _figure_sources(each, sources, drawings, wrong)
        for each, sources in zip(kept, planned, strict=True)
    ]


def _draw_and_tell(drawings: dict[tuple[str, str], Drawing]) -> dict[tuple[str, str], str]:
    """Draw figures, and say of each study when its last figure is drawn."""
    begin, wrong = monotonic(), {}
    left = Counter(study for study, _ in drawings)
    for (study, figure), error in zip(drawings, draw_all([*drawings.values()]), strict=True):
        wrong[study, figure] = error
        left[study] -= 1
        if not left[study]:
            number = sum(name == study for name, _ in drawings)
            said = f"{study}: {number} figures drawn, after {monotonic() - begin:.0f} s"
            tqdm.write(said, file=sys.stderr)
    return wrong


def _figure_sources(
    kept: StudyReference,
    planned: FigureSources,
    drawings: dict[tuple[str, str], Drawing],
    wrong: dict[tuple[str, str], str],
) -> FigureSources:
    """Return the drawn figures of one study, and the reasons why others are missing."""
    figures, missing = [], []
    for source in planned.figures:
        key = (kept.name, source.name)
        if wrong[key]:
            reason = f"{wrong[key]}; `{_renewal_command(kept.name)}` renews the reference"
            missing.append(MissingFigure(name=source.name, kind=source.kind, reason=reason))
        else:
            drawing = drawings[key]
            files = {
                "picture": drawing.picture,
                "table": drawing.table,
                "checksum": drawing.checked,
            }
            figures.append(source.model_copy(update=files))
    return planned.model_copy(update={"figures": figures, "missing": missing})


def _text_error(kept: StudyReference, name: str) -> str:
    """Return what a figure or its caption lacks, in words; empty if it lacks nothing."""
    study = kept.jobs.studies[kept.name]
    if (numbers := kept.reference.tables.get(figure_path(name))) is None:
        return f"{kept.folder}: has no table of figure {name}"
    try:
        if text := study.text(name):
            CitedFigure.of(study, name, numbers, kept.reference.verdicts.get).cite(text)
    except InputError as error:
        return error.message
    return ""


def _drawing(kept: StudyReference, planned: FigureSource, folder: Path) -> Drawing:
    table, checked = kept.folder / figure_path(planned.name), folder / f"{planned.name}.sha256"
    if not table.is_file():
        table = folder / f"{planned.name}.csv"
        write_text(table, kept.reference.tables[figure_path(planned.name)].to_csv(index=False))
    write_text(checked, checksum(table))
    path = str(planned.picture.with_suffix(""))
    published = list(map(Path, kept.jobs.tasks[path].published))
    picture = folder / planned.picture.name
    return Drawing(kept.jobs.order(path), table, checked, published, picture)
