"""Write the generated files: pages, and documents that cite numbers.

Run it in the project's folder. `NAME.md.jinja` makes the `NAME.md` beside it. A damaged
receipt in `reproductions/` is refused.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.bundle.bundle import MANIFEST, figure_path, reference_folder
from replication.bundle.judged import read_judged_reference
from replication.bundle.paper_scale import with_paper_scale
from replication.documents.authors import author_pages, is_author_page
from replication.documents.cited import check_documents, cited_documents
from replication.documents.claims import claims_page
from replication.documents.figure_texts import CitedFigure
from replication.documents.study_results import StudyResults, study_page
from replication.documents.typed_numbers import typed_numbers_in_template
from replication.judge.abstract import (
    MarkedSentence,
    decided_sentences,
    fill_line,
)
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.paper_settings import mistakes_in_departures
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import record_times
from replication.study.registry import Registry
from replication.study.studies import find_studies
from replication.verify.receipts import reproductions

AUTHOR_PAGES = "docs/*/authors/*.md"
"""Pattern of the pages for authors: one that is generated no more is removed."""
_MANUALS = ("extend.md", "glossary.md", "verification.md")
"""Documents in `docs/` to which generated pages link; a repository of one paper has none."""


def generated_files() -> dict[str, str]:
    """Return path, relative to the project's root, and content of every generated file."""
    found = find_studies()
    jobs = Jobs.of(configure({}, found), found, with_paper_scale(Path()))
    check_sentences({name: study.registry for name, study in jobs.studies.items()})
    studies = [_read_study(study) for study in jobs.studies.values()]
    elsewhere = decided_sentences((told.jobs.registry, told.verdicts) for told in studies)
    pages = {
        path: text for told in studies for path, text in _files_of_study(told, elsewhere).items()
    }
    return {
        **{path: _without_missing_manuals(path, text) for path, text in pages.items()},
        **cited_documents(studies, reproductions(Path()), jobs),
    }


def _without_missing_manuals(path: str, text: str) -> str:
    """Return a page in which links to manuals that the project lacks are left as their words."""
    for name in _MANUALS:
        if not (manual := Path("docs", name)).is_file():
            link = re.escape(os.path.relpath(manual, Path(path).parent))
            text = re.sub(rf"\[([^\]]+)\]\({link}(?:#[\w-]*)?\)", r"\1", text)
    return text


def _files_of_study(told: StudyResults, elsewhere: Mapping[str, MarkedSentence]) -> dict[str, str]:
    """Return path and content of the generated files of one study."""
    return {
        study_page(told.name, "claims"): claims_page(told, elsewhere),
        **author_pages(told),
    }


def check_texts(studies: Iterable[StudyResults]) -> None:
    """Cite the captions and descriptions of all figures whose table a reference keeps.

    The plain lines of sentences, too.

    Raises:
        InputError: if a cited value is missing, a number is typed, a plain line is long, or a
            departure has no reason.
    """
    for told in studies:
        if mistakes := mistakes_in_departures(told.jobs):
            raise InputError("\n".join(mistakes))
        for sentence in told.jobs.registry.sentences_with_marks:
            where = f"{told.name}: registry.yaml: abstracts: '{sentence.words}': plain"
            if told.reference:
                fill_line(sentence.plain, where, told.reference.verdicts)
            if typed := typed_numbers_in_template(sentence.plain or ""):
                raise InputError(f"{where}: the number in '{typed[0]}' is typed; cite it")
        for name, figure in told.jobs.figures.items():
            if told.reference is None or figure_path(name) not in told.reference.tables:
                continue
            text = told.jobs.registry.figure_text(name, figure.kind)
            table = told.reference.tables[figure_path(name)]
            CitedFigure.of(told.jobs, name, table, told.reference.verdicts.get).cite(text)
            for part in (text.drawn, text.caption):
                if typed := typed_numbers_in_template(part):
                    where = f"{told.jobs.study.name}: figure {name}"
                    raise InputError(f"{where}: the number in '{typed[0]}' is typed; cite it")


def check_sentences(registries: Mapping[str, Registry]) -> None:
    """Refuse a sentence that another study is said to decide and does not.

    Args:
        registries: of all studies, by name.

    Raises:
        InputError: if there is such a sentence.
    """
    for name, registry in registries.items():
        for sentence in (each for part in registry.abstracts for each in part.sentences):
            if sentence.study is None:
                continue
            there = registries.get(sentence.study)
            decided = {
                each.words
                for part in (there.abstracts if there else ())
                for each in part.sentences
                if each.study is None
            }
            if sentence.words not in decided:
                raise InputError(
                    f"{name}: abstracts: {sentence.study} does not decide '{sentence.words}'; name"
                    " the study whose abstract has these words with claims or a mark"
                )


def _read_study(study: StudyJobs) -> StudyResults:
    kept = (reference_folder(Path(), study.study.name) / MANIFEST).is_file()
    return StudyResults(study, read_judged_reference(Path(), study) if kept else None)


def _record_times() -> None:
    found = find_studies()
    studies = Jobs.of(configure({}, found), found).studies
    timed = {name: count for name, study in studies.items() if (count := record_times(study))}
    if not timed:
        raise InputError("logs: no job of a study was timed here; run `snakemake` first")
    for name, count in timed.items():
        click.echo(f"{name}: {count} jobs were timed here")


@click.command(help=__doc__)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing. Name the files that differ, and fail if one does or a number is typed.",
)
@click.option(
    "--times",
    is_flag=True,
    help="First record how long the jobs that ran in this folder took, in each study's seconds.csv:"
    " after a whole run in a fresh clone.",
)
def main(check: bool, times: bool) -> None:
    """Write or check the generated files."""
    if times:
        _record_times()
    if check:
        found = find_studies()
        studies = [*map(_read_study, Jobs.of(configure({}, found), found).studies.values())]
        check_texts(studies)
        check_documents(studies)
    generated = generated_files()
    gone = [
        path
        for path in Path().glob(AUTHOR_PAGES)
        if str(path) not in generated and is_author_page(path.read_text(encoding="utf-8"))
    ]
    for path in gone:
        click.echo(f"{path} {'belongs to no claim' if check else 'removed'}")
        if not check:
            path.unlink()
    stale = {
        Path(path): text
        for path, text in generated.items()
        if not Path(path).is_file() or Path(path).read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        click.echo(f"{path} {'differs' if check else 'written'}")
        if not check:
            write_text(path, text)
    if check and (stale or gone):
        raise SystemExit(1)
