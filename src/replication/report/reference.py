"""The page of a study from its reference: nothing is computed, figures are drawn from tables."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from replication.citation import Shown
from replication.configuration import configure
from replication.errors import InputError
from replication.jobs import Jobs
from replication.registry import Registry, read_registry
from replication.report.commit import commit
from replication.report.context import claim_views, contested, counts
from replication.report.page import render
from replication.report.pictures import Drawing, draw_all
from replication.report.rule import figure_sources
from replication.report.sources import FigureSource, MissingFigure, OtherPage
from replication.report.verifications import read_history
from replication.reproductions import reproductions
from replication.run import checksum
from replication.storage import write_text
from replication.study import Study
from replication.verification.reference import (
    VERDICTS,
    Reference,
    figure_path,
    read_reference,
    read_verdicts,
    reference_folder,
)

COMMAND = "python -m replication.report --reference"


class Kept(NamedTuple):
    """A study and its reference."""

    jobs: Jobs
    """The table of its jobs, under its defaults."""
    name: str
    """Its name."""
    registry: Registry
    """What it claims."""
    folder: Path
    """Where the reference is."""
    reference: Reference
    """What stands there."""


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
        studies: all that there are, by name.
        names: those whose pages are wanted.
        output: folder of the pages.
        history: table of verdicts that continuous verification keeps.

    Returns:
        The figures that cannot be drawn from a reference, by page, which says so in their place.

    Raises:
        InputError: if a reference is missing or changed, or says nothing of a claim, the history is
            damaged, or the folder cannot be written to.
    """
    recorded = read_history(history) if history else None
    kept = [_kept(root, studies[name]) for name in names]
    _make_folder(output)
    pages = {name: output / Path(studies[name].page).name for name in names}
    others = {name: _other(root, study, pages.get(name)) for name, study in studies.items()}
    made = {}
    for each in kept:
        url = each.registry.url
        beside = [
            other.model_copy(
                update={"is_same_paper": bool(url) and url == _registry(studies[name]).url}
            )
            for name, other in others.items()
            if name != each.name
        ]
        page = pages[each.name]
        made[page] = _page(each, root, page, beside, recorded)
    for page, (text, _) in made.items():
        write_text(page, text)
    return {page: missing for page, (_, missing) in made.items()}


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


def _other(root: Path, study: Study, page: Path | None) -> OtherPage:
    """Another study, with its verdicts if there is a reference that tells them."""
    registry = _registry(study)
    known = OtherPage(
        title=registry.title,
        page=page.name if page else "",
        command=f"{COMMAND} {study.name}",
    )
    labels = {name: text.label for name, text in registry.figures.items()}
    try:
        verdicts = read_verdicts(reference_folder(root, study.name))
        claims = claim_views(registry, list(verdicts.values()), labels)
    except InputError:
        return known
    titles = [f"{text.label} {text.title}".lower() for text in registry.figures.values()]
    told = {
        "counts": counts(claims),
        "contested": contested(claims),
        "search": "\n".join([*titles, *(view.search for view in claims)]),
    }
    return known.model_copy(update=told)


def _kept(root: Path, study: Study) -> Kept:
    folder = reference_folder(root, study.name)
    reference, changed = read_reference(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    registry = _registry(study)
    tested = [claim.id for claim in registry.claims if claim.test]
    if unjudged := [claim for claim in tested if claim not in reference.verdicts]:
        raise InputError(
            f"{folder / VERDICTS}: has no verdict of claim(s) {', '.join(unjudged)};"
            f" restore it with git, or `{_renewing(study.name)}` renews it"
        )
    alone = {study.name: study}
    return Kept(Jobs.of(configure({}, alone), alone), study.name, registry, folder, reference)


def _renewing(study: str) -> str:
    return f"snakemake reference --config study={study}"


def _page(
    kept: Kept, root: Path, page: Path, others: list[OtherPage], history: pd.DataFrame | None
) -> tuple[str, list[MissingFigure]]:
    study = kept.jobs.studies[kept.name]
    verdicts = {
        Path(study.verdict(claim)): verdict for claim, verdict in kept.reference.verdicts.items()
    }
    origin = {
        "commit": commit(root),
        "configuration": "the study's defaults",
        "digest": kept.jobs.configuration.digest,
        "command": f"{COMMAND} {kept.name}",
    }
    with TemporaryDirectory() as folder:
        planned = figure_sources(kept.jobs, kept.name)
        drawn = _drawn(kept, planned.figures, Path(folder))
        missing = [item for item in drawn if isinstance(item, MissingFigure)]
        figures = [item for item in drawn if isinstance(item, FigureSource)]
        shown = planned.model_copy(
            update={"figures": figures, "missing": missing, "others": others}
        )
        machine = kept.reference.depends["machine"]
        verified = reproductions(root, kept.name)
        text = render(
            study.registry, verdicts, shown, verified, origin, page, machine, root, history
        )
        return text, missing


def _drawn(
    kept: Kept, planned: list[FigureSource], folder: Path
) -> list[FigureSource | MissingFigure]:
    """Figures, drawn in a folder from their tables in the reference, or why they cannot be."""
    wrong = {source.name: _uncited(kept, source.name) for source in planned}
    drawable = [source for source in planned if not wrong[source.name]]
    drawings = [_drawing(kept, source, folder) for source in drawable]
    said = draw_all(drawings)
    wrong |= {source.name: words for source, words in zip(drawable, said, strict=True)}
    drawn = {
        source.name: {"picture": one.picture, "table": one.table, "checksum": one.checked}
        for source, one in zip(drawable, drawings, strict=True)
    }
    return [
        MissingFigure(
            name=source.name,
            drawing=source.drawing,
            reason=f"{wrong[source.name]}; `{_renewing(kept.name)}` renews the reference",
        )
        if wrong[source.name]
        else source.model_copy(update=drawn[source.name])
        for source in planned
    ]


def _uncited(kept: Kept, name: str) -> str:
    """What a figure or its caption lacks, in words; nothing if all is there."""
    study = kept.jobs.studies[kept.name]
    if (numbers := kept.reference.tables.get(figure_path(name))) is None:
        return f"{kept.folder}: has no table of figure {name}"
    try:
        if text := study.text(name):
            Shown.of(study, name, numbers, kept.reference.verdicts.get).cited(text)
    except InputError as error:
        return error.message
    return ""


def _drawing(kept: Kept, planned: FigureSource, folder: Path) -> Drawing:
    table, checked = kept.folder / figure_path(planned.name), folder / f"{planned.name}.sha256"
    write_text(checked, checksum(table))
    path = str(planned.picture.with_suffix(""))
    published = list(map(Path, kept.jobs.tasks[path].published))
    picture = folder / planned.picture.name
    return Drawing(kept.jobs.order(path), table, checked, published, picture)
