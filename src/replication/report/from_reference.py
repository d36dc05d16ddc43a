"""The page of a study from its reference: nothing is computed, figures are drawn from tables."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from replication.base.commit import commit_name
from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.documents.figure_texts import CitedFigure
from replication.judge.abstract import decided_sentences
from replication.judge.scorecard_figure import table_of_verdicts
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.report.context import claim_views, contested_claims, verdict_counts
from replication.report.page import render
from replication.report.page_rule import figure_sources
from replication.report.pictures import Drawing, draw_all
from replication.report.sources import FigureSource, FigureSources, MissingFigure, OtherPage
from replication.report.verifications import read_history
from replication.run.work import checksum
from replication.study.registry import SCORECARD, Registry, read_registry
from replication.study.studies import Study
from replication.verify.reference import (
    VERDICTS,
    Reference,
    figure_path,
    read_reference,
    read_verdicts,
    reference_folder,
)
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
    reference: Reference
    """Content of the reference."""


def write_pages(
    root: Path,
    studies: dict[str, Study],
    names: list[str],
    output: Path,
    history: Path | None = None,
) -> dict[Path, list[MissingFigure]]:
    """Write the page of each study from its reference: all pages, or none.

    Args:
        root: the project's folder.
        studies: all studies by name.
        names: names of the studies whose pages are wanted.
        output: folder of the pages.
        history: table of verdicts that continuous verification keeps.

    Returns:
        The figures that cannot be drawn from a reference, by page; the page says so in their place.

    Raises:
        InputError: if a reference is missing or changed, or says nothing of a claim, the history is
            damaged, or the folder cannot be written to.
    """
    recorded = read_history(history) if history else None
    registries = {name: _registry(study) for name, study in studies.items()}
    kept = [_read_study(root, studies[name], registries[name]) for name in names]
    _make_folder(output)
    pages = {name: output / Path(studies[name].page).name for name in names}
    others = {
        name: _other_page(root, name, registry, pages.get(name))
        for name, registry in registries.items()
    }
    with TemporaryDirectory() as folder:
        shown = [
            sources.model_copy(update={"others": _other_pages(each, others, registries)})
            for each, sources in zip(kept, _draw_figures(kept, Path(folder)), strict=True)
        ]
        texts = [
            _page(each, sources, root, pages[each.name], recorded)
            for each, sources in zip(kept, shown, strict=True)
        ]
    for each, text in zip(kept, texts, strict=True):
        write_text(pages[each.name], text)
    return {pages[each.name]: sources.missing for each, sources in zip(kept, shown, strict=True)}


def _other_pages(
    kept: StudyReference, others: dict[str, OtherPage], registries: dict[str, Registry]
) -> list[OtherPage]:
    """Return the pages of the other studies, as the page of one study shows them."""
    url = kept.registry.url
    return [
        other.model_copy(update={"is_same_paper": bool(url) and url == registries[name].url})
        for name, other in others.items()
        if name != kept.name
    ]


def _make_folder(folder: Path) -> None:
    remedy = "allow it, or choose another --output"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); {remedy}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; {remedy}")


def _registry(study: Study) -> Registry:
    return read_registry(study.folder / "registry.yaml")


def _other_page(root: Path, name: str, registry: Registry, page: Path | None) -> OtherPage:
    """Return the page of another study, with its verdicts if a reference tells them."""
    known = OtherPage(
        title=registry.title,
        page=page.name if page else "",
        command=f"{COMMAND} {name}",
    )
    labels = {figure: text.label for figure, text in registry.figures.items()}
    try:
        verdicts = read_verdicts(reference_folder(root, name))
        claims = claim_views(registry, list(verdicts.values()), labels)
    except InputError:
        return known
    titles = [f"{text.label} {text.title}".lower() for text in registry.figures.values()]
    fields = {
        "counts": verdict_counts(claims),
        "contested": contested_claims(claims),
        "marks": {
            words: found.mark for words, found in decided_sentences([(registry, verdicts)]).items()
        },
        "search": "\n".join([*titles, *(view.search for view in claims)]),
    }
    return known.model_copy(update=fields)


def _read_study(root: Path, study: Study, registry: Registry) -> StudyReference:
    folder = reference_folder(root, study.name)
    reference, changed = read_reference(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    tested = [claim.id for claim in registry.claims if claim.test]
    if unjudged := [claim for claim in tested if claim not in reference.verdicts]:
        raise InputError(
            f"{folder / VERDICTS}: has no verdict of claim(s) {', '.join(unjudged)};"
            f" restore it with git, or `{_renewal_command(study.name)}` renews it"
        )
    alone = {study.name: study}
    jobs = Jobs.of(configure({}, alone), alone)
    if SCORECARD in jobs.studies[study.name].figures:
        made = table_of_verdicts(registry, reference.verdicts)
        reference.tables[figure_path(SCORECARD)] = made
    return StudyReference(jobs, study.name, registry, folder, reference)


def _renewal_command(study: str) -> str:
    return f"snakemake reference --config study={study}"


def _page(
    kept: StudyReference, shown: FigureSources, root: Path, page: Path, history: pd.DataFrame | None
) -> str:
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
    return render(study.registry, verdicts, shown, verified, origin, page, machine, root, history)


def _draw_figures(kept: list[StudyReference], folder: Path) -> list[FigureSources]:
    """Draw the figures of all pages in a folder, from their tables in the references."""
    planned = [figure_sources(each.jobs, each.name) for each in kept]
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
    wrong |= dict(zip(drawings, draw_all([*drawings.values()]), strict=True))
    return [
        _figure_sources(each, sources, drawings, wrong)
        for each, sources in zip(kept, planned, strict=True)
    ]


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
