"""The site from references: nothing is computed, figures are drawn from tables."""

import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tqdm import tqdm

from replication.base.commit import commit_name
from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.base.tables import write_csv
from replication.bundle.bundle import VERDICTS, figure_path, reference_folder
from replication.bundle.judged import read_judged_reference
from replication.bundle.paper_scale import with_paper_scale
from replication.judge.abstract import decided_sentences
from replication.judge.scorecard_figure import table_of_verdicts
from replication.plan.configuration import configure
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.keys_in_files import checksum
from replication.plan.steps import Step
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records
from replication.report.index import render_index
from replication.report.page import render, write_shown
from replication.report.pictures import draw_all
from replication.report.shown import (
    INDEX,
    ShownFigure,
    ShownStudy,
    Site,
    figure_seconds,
    picture_path,
    text_error,
)
from replication.report.site import folder_of_page, refuse_other_page, registry_of, related_pages
from replication.study.registry import SCORECARD, Registry
from replication.study.studies import Study

COMMAND = "python -m replication report --reference {}"


def write_pages(
    root: Path,
    studies: dict[str, Study],
    names: list[str],
    output: Path,
) -> dict[Path, dict[str, str]]:
    """Write the page of each named study from its reference: all pages, or none.

    Returns why figures cannot be drawn, by page and figure; the page says so in their place.

    Raises:
        InputError: if a reference is missing or changed, or says nothing of a claim, or the folder
            cannot be written to or has files that no page wrote.
    """
    site = Site(names, INDEX, COMMAND)
    jobs = Jobs.of(configure({}, studies), studies, with_paper_scale(root))
    kept = [_read_study(root, jobs, name, site) for name in names]
    _add_scorecards(kept)
    _make_folder(output)
    pages = {name: output / f"{name}.html" for name in names}
    refuse_other_page(output / INDEX)
    for page in pages.values():
        refuse_other_page(page)
        folder_of_page(page)
    with TemporaryDirectory() as folder:
        shown = _draw_figures(root, jobs, kept, Path(folder))
        commit = commit_name(root)
        texts = [render(each, _origin(each.study.study, commit), root) for each in shown]
        for each, text in zip(shown, texts, strict=True):
            write_shown(pages[each.study.study.name], each, text)
        verdicts = {each.study.study.name: each.bundle.verdicts for each in shown}
        pictures = {
            each.study.study.name: figure.picture
            for each in shown
            for figure in each.figures
            if figure.name == SCORECARD
        }
        write_text(output / INDEX, render_index(root, jobs, site, verdicts, pictures))
    return {pages[each.study.study.name]: dict(each.missing) for each in shown}


def _origin(study: Study, commit: str) -> dict[str, str]:
    return {
        "commit": commit,
        "configuration": "the study's defaults",
        "digest": configure({}, {study.name: study}).digest,
        "command": COMMAND.format(study.name),
    }


def _make_folder(folder: Path) -> None:
    remedy = "allow it, or choose another --output"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); {remedy}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; {remedy}")


def _read_study(root: Path, jobs: Jobs, name: str, site: Site) -> ShownStudy:
    study = jobs.studies[name]
    bundle = read_judged_reference(root, study)
    if unjudged := [claim for claim in study.claims if claim not in bundle.verdicts]:
        raise InputError(
            f"{reference_folder(root, name) / VERDICTS}: has no verdict of claim(s)"
            f" {', '.join(unjudged)}; restore it with git, or `{_renewal_command(name)}` renews it"
        )
    return ShownStudy(study, bundle, [], site)


def _add_scorecards(kept: list[ShownStudy]) -> None:
    """Add the tables of scorecards to the bundles, which hold only the evidence for them."""
    registries = [_plain_registry(each.study) for each in kept]
    judged = zip(registries, (each.bundle.verdicts for each in kept), strict=True)
    decided = decided_sentences(judged)
    for registry, (study, bundle, *_) in zip(registries, kept, strict=True):
        if SCORECARD in study.figures:
            made = table_of_verdicts(registry, bundle.verdicts, decided)
            bundle.tables[figure_path(SCORECARD)] = made


def _plain_registry(study: StudyJobs) -> Registry:
    """Return the registry of a study, without departures of its jobs from the paper's settings."""
    there = {"at_paper_scale": study.registry.at_paper_scale}
    return registry_of(study.study).model_copy(update=there)


def _renewal_command(study: str) -> str:
    return f"snakemake reference --config study={study}"


def _draw_figures(root: Path, jobs: Jobs, kept: list[ShownStudy], folder: Path) -> list[ShownStudy]:
    """Draw the figures of all pages in a folder; return the studies with those that are drawn."""
    records = Records.of(study.study for study in jobs.studies.values())
    wrong: dict[tuple[str, str], str] = {}
    drawings: dict[tuple[str, str], Step] = {}
    for each in kept:
        name = each.study.study.name
        for figure in each.study.figures:
            key = name, figure
            if figure_path(figure) not in each.bundle.tables:
                wrong[key] = f"{reference_folder(root, name)}: has no table of figure {figure}"
            elif error := text_error(each, figure):
                wrong[key] = error
            else:
                drawings[key] = _drawing(root, jobs, each, figure, folder / name)
    wrong |= _draw_and_tell(drawings)
    shown = []
    for each in kept:
        name = each.study.study.name
        figures = [
            ShownFigure(
                figure,
                drawings[name, figure].file,
                drawings[name, figure].inputs[0].file,
                figure_seconds(jobs, each.study, figure, records),
            )
            for figure in each.study.figures
            if not wrong[name, figure]
        ]
        missing = {
            figure: f"{why}; `{_renewal_command(name)}` renews the reference"
            for figure in each.study.figures
            if (why := wrong[name, figure])
        }
        related = related_pages(root, name, each.site)
        cost = cost_in_words(cost_of_study(jobs, name, records))
        shown.append(each._replace(figures=figures, missing=missing, related=related, cost=cost))
    return shown


def _drawing(root: Path, jobs: Jobs, shown: ShownStudy, figure: str, folder: Path) -> Step:
    """Return the step that draws a figure of a reference in a folder."""
    name, path = shown.study.study.name, figure_path(figure)
    table, checked = reference_folder(root, name) / path, folder / f"{figure}.sha256"
    if not table.is_file():
        table = folder / f"{figure}.csv"
        write_csv(table, shown.bundle.tables[path])
    write_text(checked, checksum(table))
    job = shown.study.table(figure).removesuffix(".csv")
    picture = folder / Path(picture_path(shown.study, figure)).name
    published = [each.path for each in jobs.steps[job].of_role("published")]
    return jobs.ready(job, [str(picture)], [str(table), str(checked), *published])


def _draw_and_tell(drawings: dict[tuple[str, str], Step]) -> dict[tuple[str, str], str]:
    """Draw figures, and say of each study when its last figure is drawn; return the errors."""
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
