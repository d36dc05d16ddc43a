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
from replication.bundle.judged import read_judged_reference, with_paper_scale
from replication.documents.cited import cited_documents, refuse_typed_numbers
from replication.documents.pages import StudyResults, author_pages, claims_page, study_page
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
MANUAL = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+\w+\.md)[^)]*\)")
"""Links of generated pages to documents in `docs/`, which a repository of one paper may lack."""


def generated_files(jobs: Jobs) -> dict[str, str]:
    """Return path, relative to the project's root, and content of every generated file."""
    check_sentences({name: study.registry for name, study in jobs.studies.items()})
    studies = [*map(_read_study, jobs.studies.values())]
    elsewhere = decided_sentences((each.jobs.registry, each.verdicts) for each in studies)
    pages: dict[str, str] = {}
    for each in studies:
        pages[study_page(each.name, "claims")] = claims_page(each, elsewhere)
        pages |= author_pages(each)
    return {
        **{path: _without_missing_manuals(path, text) for path, text in pages.items()},
        **cited_documents(studies, reproductions(Path()), jobs),
    }


def _without_missing_manuals(path: str, text: str) -> str:
    """Return a page in which links to manuals that the project lacks are left as their words."""

    def shown(link: re.Match[str]) -> str:
        manual = os.path.normpath(f"{os.path.dirname(path)}/{link[2]}")
        return link[0] if os.path.isfile(manual) else link[1]

    return MANUAL.sub(shown, text)


def check_sentences(registries: Mapping[str, Registry]) -> None:
    """Refuse a sentence that another study is said to decide and does not, with an `InputError`.

    `registries` has those of all studies, by name.
    """
    sentences = {
        name: [each for abstract in registry.abstracts for each in abstract.sentences]
        for name, registry in registries.items()
    }
    for name, own in sentences.items():
        for each in own:
            there = sentences.get(each.study or "", ())
            if each.study and each.words not in {found.words for found in there if not found.study}:
                raise InputError(
                    f"{name}: abstracts: {each.study} does not decide '{each.words}'; name the"
                    " study whose abstract has these words with claims or a mark"
                )


def _read_study(study: StudyJobs) -> StudyResults:
    kept = (reference_folder(Path(), study.study.name) / MANIFEST).is_file()
    return StudyResults(study, read_judged_reference(Path(), study) if kept else None)


def _record_times(jobs: Jobs) -> None:
    counts = {name: record_times(study) for name, study in jobs.studies.items()}
    if not any(counts.values()):
        raise InputError("logs: no job of a study was timed here; run `snakemake` first")
    for name, count in counts.items():
        if count:
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
    found = find_studies()
    jobs = Jobs.of(configure({}, found), found, with_paper_scale(Path()))
    if times:
        _record_times(jobs)
    if check:
        refuse_typed_numbers()
    generated: dict[Path, str | None] = {
        Path(path): text for path, text in generated_files(jobs).items()
    }
    for path in sorted(Path().glob(AUTHOR_PAGES)):
        if path not in generated and GENERATED.search(path.read_text("utf-8")):
            generated[path] = None
    differs = False
    for path, text in generated.items():
        if (path.read_text("utf-8") if path.is_file() else None) == text:
            continue
        differs = True
        if check:
            click.echo(f"{path} {'belongs to no claim' if text is None else 'differs'}")
        elif text is None:
            path.unlink()
            click.echo(f"{path} removed")
        else:
            write_text(path, text)
            click.echo(f"{path} written")
    if check and differs:
        raise SystemExit(1)
