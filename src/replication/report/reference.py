"""The page of a study from its reference: nothing is computed, figures are drawn from tables."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import pandas as pd

from replication.citation import Shown
from replication.configuration import configure
from replication.errors import InputError
from replication.jobs import Jobs
from replication.registry import read_registry
from replication.report.commit import commit
from replication.report.page import render
from replication.report.rule import figure_sources
from replication.report.sources import FigureSource, OtherPage
from replication.report.verifications import read_history
from replication.reproductions import reproductions
from replication.run import checksum, draw
from replication.storage import write_text
from replication.study import Study
from replication.verification.reference import (
    Reference,
    figure_path,
    read_reference,
    reference_folder,
)

COMMAND = "python -m replication.report --reference"


class Kept(NamedTuple):
    """A study and its reference."""

    jobs: Jobs
    """The table of its jobs, under its defaults."""
    name: str
    """Its name."""
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
) -> list[Path]:
    """Write the page of each study from its reference: all pages, or none.

    Args:
        root: the project's folder.
        studies: all that there are, by name.
        names: those whose pages are wanted.
        output: folder of the pages.
        history: table of verdicts that continuous verification keeps.

    Returns:
        The pages.

    Raises:
        InputError: if a reference is missing or changed, or says nothing of a claim, the history is
            damaged, or the folder cannot be written to.
    """
    recorded = read_history(history) if history else None
    kept = [_kept(root, studies[name]) for name in names]
    _make_folder(output)
    pages = {name: output / Path(studies[name].page).name for name in names}
    texts = {}
    for each in kept:
        page = pages[each.name]
        others = [
            _other(study, pages.get(name)) for name, study in studies.items() if name != each.name
        ]
        texts[page] = _page(each, root, page, others, recorded)
    for page, text in texts.items():
        write_text(page, text)
    return list(texts)


def _make_folder(folder: Path) -> None:
    remedy = "allow it, or choose another --output"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); {remedy}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written to; {remedy}")


def _other(study: Study, page: Path | None) -> OtherPage:
    registry = read_registry(study.folder / "registry.yaml")
    command = "" if page else f"{COMMAND} {study.name}"
    return OtherPage(title=registry.title, page=page.name if page else "", command=command)


def _kept(root: Path, study: Study) -> Kept:
    folder = reference_folder(root, study.name)
    reference, changed = read_reference(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    alone = {study.name: study}
    return Kept(Jobs.of(configure({}, alone), alone), study.name, folder, reference)


def _page(
    kept: Kept, root: Path, page: Path, others: list[OtherPage], history: pd.DataFrame | None
) -> str:
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
        drawn = [_drawn(kept, source, Path(folder)) for source in planned.figures]
        shown = planned.model_copy(
            update={"figures": [source for source in drawn if source], "others": others}
        )
        machine = kept.reference.depends["machine"]
        verified = reproductions(root, kept.name)
        return render(
            study.registry, verdicts, shown, verified, origin, page, machine, root, history
        )


def _drawn(kept: Kept, planned: FigureSource, folder: Path) -> FigureSource | None:
    """A figure, drawn in a folder from its table in the reference; none if that cannot be."""
    table = kept.folder / figure_path(planned.name)
    picture, checked = folder / planned.picture.name, folder / f"{planned.name}.sha256"
    study = kept.jobs.studies[kept.name]
    path = str(planned.picture.with_suffix(""))
    try:
        if figure_path(planned.name) not in kept.reference.tables:
            raise InputError(f"{kept.folder}: has no table of figure {planned.name}")
        if text := study.text(planned.name):
            numbers = kept.reference.tables[figure_path(planned.name)]
            Shown.of(study, planned.name, numbers, kept.reference.verdicts.get).cited(text)
        write_text(checked, checksum(table))
        published = map(Path, kept.jobs.tasks[path].published)
        draw(kept.jobs.order(path), table, checked, list(published), picture)
    except InputError as error:
        renew = f"snakemake reference --config study={kept.name}"
        click.echo(f"not on the page: {error.message}; `{renew}` renews the reference", err=True)
        return None
    return planned.model_copy(update={"picture": picture, "table": table, "checksum": checked})
