"""Write the generated files: pages, and documents that cite numbers.

Run it in the project's folder. `NAME.md.jinja` makes the `NAME.md` beside it. A damaged
receipt in `reproductions/` is refused.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import click

from replication.base.errors import InputError
from replication.base.storage import write_text
from replication.bundle.bundle import MANIFEST, reference_folder
from replication.bundle.judged import read_judged_reference
from replication.bundle.paper_scale import with_paper_scale
from replication.documents.cited import cited_documents, refuse_typed_numbers
from replication.documents.pages import author_pages, claims_page
from replication.documents.study_results import StudyResults, study_page
from replication.judge.abstract import decided_sentences
from replication.plan.configuration import configure
from replication.plan.costs import record_times
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import Registry
from replication.study.studies import find_studies
from replication.verify.receipts import reproductions

AUTHOR_PAGES = "docs/*/authors/*.md"
"""Pattern of the pages for authors: one that is generated no more is removed."""
GENERATED = re.compile(r"^## The authors' answer$|^# For the authors: ", re.MULTILINE)
"""Lines by which such a page is known."""
_MANUALS = ("extend.md", "glossary.md", "verification.md")
"""Documents in `docs/` to which generated pages link; a repository of one paper has none."""


def generated_files() -> dict[str, str]:
    """Return path, relative to the project's root, and content of every generated file."""
    found = find_studies()
    jobs = Jobs.of(configure({}, found), found, with_paper_scale(Path()))
    check_sentences({name: study.registry for name, study in jobs.studies.items()})
    studies = [*map(_read_study, jobs.studies.values())]
    elsewhere = decided_sentences((told.jobs.registry, told.verdicts) for told in studies)
    pages: dict[str, str] = {}
    for told in studies:
        pages[study_page(told.name, "claims")] = claims_page(told, elsewhere)
        pages |= author_pages(told)
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


def check_sentences(registries: Mapping[str, Registry]) -> None:
    """Refuse a sentence that another study is said to decide and does not, with an `InputError`.

    `registries` has those of all studies, by name.
    """
    sentences = {
        name: [each for abstract in registry.abstracts for each in abstract.sentences]
        for name, registry in registries.items()
    }
    for name, own in sentences.items():
        for sentence in own:
            there = sentences.get(sentence.study, []) if sentence.study else own
            if not any(each.words == sentence.words and each.study is None for each in there):
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
        refuse_typed_numbers()
    generated = {Path(path): text for path, text in generated_files().items()}
    there = {
        path: path.read_text("utf-8")
        for path in (*generated, *Path().glob(AUTHOR_PAGES))
        if path.is_file()
    }
    gone = [path for path in there.keys() - generated.keys() if GENERATED.search(there[path])]
    stale = [path for path, text in generated.items() if there.get(path) != text]
    for path in sorted(gone):
        click.echo(f"{path} {'belongs to no claim' if check else 'removed'}")
        if not check:
            path.unlink()
    for path in stale:
        click.echo(f"{path} {'differs' if check else 'written'}")
        if not check:
            write_text(path, generated[path])
    if check and (stale or gone):
        raise SystemExit(1)
