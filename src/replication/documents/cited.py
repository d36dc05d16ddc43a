"""Documents that cite their numbers: the template `NAME.md.jinja` makes `NAME.md` beside it.

A template is Markdown with the marks of Jinja. Beside what every text can cite, see `templates`, it
knows the kept results of all studies:

    tables["mine/fig1"]                     numbers of a figure, by its file's name
    verdict("T1"), verdict("mine/L1")       a verdict, of the document's own study or of another one
    judged("T1", "mine/L1")                 the same in words, with links to the claims, and the
                                            remark that a claim was declared late
    pictures("mine", "fig1", "fig4")        links to pictures of the gallery
    settings.mine                           default settings
    abstract("mine"), abstracts("mine")     an abstract with its marks; the number of marks, of all
                                            papers if none is named
    refuted()                               sentences of abstracts that do not hold, with their
                                            versions
    headlines(), not_holding(), counts()    tables of claims, of the studies that are named
    cost("mine"), cost()                    time and memory of all jobs of a study, or of all
                                            papers
    needed_seeds("mine")                    seeds that would decide each open claim, as a table
    reproductions()                         what others sent in, by processor
    benchmark("error_rates")                a table of `benchmarks/`
    tolerances["counts"].spread             what may differ on another processor, see `differences`
    datasets()                              what is downloaded: study, name and entry of each
    project                                 content of `CITATION.cff`
    site                                    address of the published pages; empty if there is none

Numbers that were measured by hand stand between the comments `{# measured by COMMAND #}` and
`{# end of measured #}`. Any other number that is typed is refused.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.citation_file import read_citation_file
from replication.base.errors import InputError
from replication.base.markdown import Markdown, escape_markdown, table
from replication.base.places import PROJECT
from replication.bundle.bundle import figure_path
from replication.documents.scorecards import claim_lines, count_lines, reproduction_lines
from replication.documents.study_results import StudyResults, claim_links, study_page
from replication.documents.typed_numbers import typed_numbers_in_document
from replication.judge.abstract import (
    MARKS,
    MarkedSentence,
    abstract_lines,
    count_marks,
    decided_sentences,
    mark_sentences,
)
from replication.judge.templates import fill_template
from replication.judge.verdicts import FEWEST_SEEDS, PROBABILITY, Verdict, short_verdict
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.study.claims import Statistical
from replication.study.datasets import Dataset, dataset_folders, find_datasets
from replication.study.registry import without_latex
from replication.study.studies import find_studies
from replication.verify.differences import (
    ACROSS_PROCESSORS,
    COUNTS,
    LOGARITHM_OF_P,
    STANDARD_ERRORS,
)
from replication.verify.power import CLAIM_HEADER, claim_rows

SUFFIX = ".jinja"
FRONT = "---\n"
"""Beginning of a document that has metadata in YAML before its text."""
FOLDERS = ("", "config/", "docs/**/")
"""Folders, besides those of studies, whose documents may be templates."""
GALLERY = "docs/gallery"
"""Folder of the pictures that documents show."""
RULES = {
    "level": Statistical.model_fields["level"].default,
    "fewest_seeds": FEWEST_SEEDS,
    "probability": PROBABILITY,
    "tolerances": {
        each.name: each._asdict() for each in (ACROSS_PROCESSORS, COUNTS, LOGARITHM_OF_P)
    },
    "standard_errors": STANDARD_ERRORS,
}
"""Numbers by which the engine judges claims and compares with a reference."""


def cited_documents(
    studies: list[StudyResults], sent_in: Sequence[tuple[str, ...]], jobs: Jobs
) -> dict[str, str]:
    """Return path and text of every document that a template makes, from the results of studies.

    `sent_in` has reproductions by others, `jobs` is the table of all jobs. An `InputError` if a
    template cites a value that is missing.
    """
    made = {}
    for path in templates():
        document = str(path.with_suffix(""))
        known = Citable(document, own_first(studies, path), sent_in, jobs).by_name()
        made[document] = fill_document(path, known)
    return made


def own_first(studies: list[StudyResults], path: Path) -> list[StudyResults]:
    """Return all studies; that in whose folder a document lies comes first."""
    return sorted(studies, key=lambda told: told.name not in path.parts)


def refuse_typed_numbers() -> None:
    """Refuse a number that is typed in a template, with an `InputError` that has the words."""
    for path in templates():
        if typed := typed_numbers_in_document(path.read_text(encoding="utf-8")):
            raise InputError(f"{path}: the number in '{typed[0]}' is typed; cite it")


def fill_document(path: Path, known: Mapping[str, Any]) -> str:
    """Return a document with the known values that its template cites by name.

    An `InputError` if one is missing.
    """
    shown = fill_template(path.read_text(encoding="utf-8"), str(path), known)
    # Lines that only name a value leave nothing but their end.
    text = re.sub(r"\n{3,}", "\n\n", shown).strip()
    made = f"Made from {path.name} by `python -m replication generate`."
    if text.startswith(FRONT):
        # Whoever reads a document's metadata expects them in its first line.
        return f"{FRONT}# {made}\n{text.removeprefix(FRONT)}\n"
    return f"<!-- {made} -->\n\n{text}\n"


def templates() -> Iterator[Path]:
    """Yield the path of every template, relative to the project's folder."""
    studies = (f"{study.folder.relative_to(PROJECT)}/" for study in find_studies().values())
    for folder in (*FOLDERS, *studies):
        yield from sorted(Path().glob(f"{folder}*.md{SUFFIX}"))


class Citable:
    """The results that one document can cite; its public names are those of templates."""

    def __init__(
        self,
        document: str,
        studies: list[StudyResults],
        sent_in: Sequence[tuple[str, ...]],
        jobs: Jobs,
    ) -> None:
        """Take the document's path; of equal names, those of an earlier study count."""
        self._document, self._studies, self._sent_in, self._jobs = document, studies, sent_in, jobs
        self._kept = {told.name: told for told in studies if told.reference}

    def by_name(self) -> dict[str, Any]:
        """Return everything that a document can cite, by name."""
        functions = [name for name in vars(Citable) if name[0] != "_" and name != "by_name"]
        project = read_citation_file(Path())
        return {
            **{name: getattr(self, name) for name in functions},
            **RULES,
            "tables": self._tables(),
            "settings": {
                name: told.jobs.settings.model_dump(mode="json")
                for name, told in self._kept.items()
            },
            "project": project,
            "site": str(project.get("url", "")),
        }

    def verdict(self, name: str) -> Verdict:
        """Return the verdict on a claim of the own study, or of the study before it: `mine/T1`."""
        return self._find(name)[1]

    def judged(self, *names: str) -> str:
        """Return verdicts in words, with links to the claims."""
        said = []
        for name in names:
            study, verdict = self._find(name)
            claims = self._kept[study].jobs.registry.claims
            late = any(each.declared_late for each in claims if each.id == verdict.claim)
            link = claim_links(self._document, study)(verdict.claim, None)
            said.append(f"{link}: {short_verdict(verdict, late=late)}")
        return "; ".join(said)

    def pictures(self, study: str, *names: str) -> str:
        """Return links to pictures of the gallery."""
        (told,) = self._named(study)
        folder = Path(GALLERY, *Path(told.jobs.study.figures).parts[1:])
        there = self._path_to(folder)
        return ", ".join(f"[`{name}`]({there}/{name}.png)" for name in names)

    def abstract(self, study: str) -> str:
        """Return an abstract with its marks."""
        (told,) = self._named(study)
        link = claim_links(self._document, study)
        return "\n".join(abstract_lines(told.jobs.registry, told.verdicts, self._elsewhere(), link))

    def abstracts(self, *studies: str) -> str:
        """Return the number of sentences by mark, paper and version, as a table."""
        rows: dict[str, tuple[str, ...]] = {}
        for told in filter(_is_of_a_paper, self._named(*studies)):
            page = self._path_to(Path(study_page(told.name, "claims")))
            counts = count_marks(told.jobs.registry, told.verdicts, self._elsewhere())
            for version, marks in counts.items():
                words = f"[`{told.name}`]({page}#the-abstract), {escape_markdown(version)}"
                # A paper's other study has the same abstract.
                row = (Markdown(words), *(str(count or "") for count in marks.values()))
                rows.setdefault(version, row)
        return "\n".join(table(("abstract", *MARKS), rows.values()))

    def refuted(self, *studies: str) -> str:
        """Return the sentences of abstracts that do not hold, as a list."""
        papers = filter(_is_of_a_paper, self._named(*studies))
        return "\n".join(line for told in papers for line in refuted_lines(told, self._document))

    def headlines(self, *studies: str) -> str:
        """Return the claims that stand for the others, as a table."""
        return "\n".join(claim_lines(self._named(*studies), self._document, are_headlines=True))

    def not_holding(self, *studies: str) -> str:
        """Return the claims of papers that hold in part, do not hold or are open, as a table."""
        return "\n".join(claim_lines(self._named(*studies), self._document, are_headlines=False))

    def counts(self, *studies: str) -> str:
        """Return the number of claims by group and verdict, as a table."""
        return "\n".join(count_lines(self._named(*studies)))

    def cost(self, *studies: str) -> str:
        """Return time and memory of all jobs of studies, of all papers if none is named."""
        told = self._named(*studies) if studies else filter(_is_of_a_paper, self._studies)
        return Costs(self._jobs).in_words(*(each.name for each in told))

    def needed_seeds(self, study: str) -> str:
        """Return the numbers of seeds that would decide the open claims of a study, as a table."""
        (told,) = self._named(study)
        if told.reference is None:
            raise LookupError(f"{study} has no reference")
        rows = claim_rows(told.jobs, told.reference, Costs(self._jobs).records)
        link = claim_links(self._document, study)
        linked = [(link(claim, None), *others) for _, claim, *others in rows]
        return "\n".join(table(CLAIM_HEADER[1:], linked))

    def reproductions(self) -> str:
        """Return what others sent in, as a table."""
        return "\n".join(reproduction_lines(self._sent_in))

    def benchmark(self, name: str) -> pd.DataFrame:
        """Return a table of `benchmarks/`."""
        return pd.read_csv(f"benchmarks/{name}.csv")

    def datasets(self) -> list[tuple[str, str, Dataset]]:
        """Return what studies download: the study, the name and the entry of each."""
        return [
            (folder.name, name, dataset)
            for folder in dataset_folders()
            for name, dataset in find_datasets([folder]).items()
        ]

    def _named(self, *names: str) -> list[StudyResults]:
        """Return the studies of these names, all if none is given."""
        known = {told.name: told for told in self._studies}
        for name in names:
            if name not in known:
                raise LookupError(f"there is no study {name}")
        return [known[name] for name in names or known]

    def _find(self, name: str) -> tuple[str, Verdict]:
        """Return study and verdict of a claim."""
        study, _, claim = name.rpartition("/")
        for told in self._kept.values():
            if claim in told.verdicts and study in ("", told.name):
                return told.name, told.verdicts[claim]
        raise LookupError(f"there is no verdict on claim {name}")

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return the numbers of all figures, by their paths below `figures/`, without ending."""
        return {
            told.jobs.table(name).removeprefix("figures/").removesuffix(".csv"): found[path]
            for told in self._kept.values()
            if told.reference and (found := told.reference.tables)
            for name in told.jobs.figures
            if (path := figure_path(name)) in found
        }

    def _elsewhere(self) -> dict[str, MarkedSentence]:
        return decided_sentences((told.jobs.registry, told.verdicts) for told in self._studies)

    def _path_to(self, path: Path) -> str:
        return os.path.relpath(path, Path(self._document).parent)


def refuted_lines(told: StudyResults, document: str) -> Iterator[str]:
    """Yield the sentences of abstracts that do not hold, as the lines of a list.

    Sentences of several versions that the same claims decide are one line, which names versions.
    """
    link = claim_links(document, told.name)
    for sentences in _refuted_sentences(told):
        first, claims = sentences[0][1], sentences[0][1].sentence.claims
        words = without_latex(first.sentence.words)
        same: list[str] = []
        others: list[str] = []
        for version, each in sentences:
            is_same = without_latex(each.sentence.words) == words
            (same if is_same else others).append(version)
        where = "; in other words in ".join(" and ".join(each) for each in (same, others) if each)
        shown = f", {escape_markdown(where)}" * (len(told.jobs.registry.abstracts) > 1)
        links = ", ".join(link(claim, None) for claim in claims)
        plain = f": {escape_markdown(first.plain)}" if first.plain else ""
        yield f"* `{told.name}`: “{escape_markdown(words)}” ({links}){shown}{plain}"


def _refuted_sentences(told: StudyResults) -> Iterable[list[tuple[str, MarkedSentence]]]:
    """Return a study's sentences that do not hold, with their versions; those of one line together.

    These have the same claims, and as many sentences with these claims stand before them.
    """
    found: dict[tuple[Any, ...], list[tuple[str, MarkedSentence]]] = {}
    for abstract in told.jobs.registry.abstracts:
        seen: list[list[str]] = []
        for each in mark_sentences(told.jobs.registry, abstract.sentences, told.verdicts):
            claims = each.sentence.claims
            if each.mark == "does not hold":
                found.setdefault((*claims, seen.count(claims)), []).append((abstract.version, each))
                seen.append(claims)
    return found.values()


def _is_of_a_paper(told: StudyResults) -> bool:
    return bool(told.jobs.registry.url)
