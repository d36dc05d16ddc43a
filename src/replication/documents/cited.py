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
    licences()                              licences of all data sets, encoders and networks
    project                                 content of `CITATION.cff`
    site                                    address of the published pages; empty if there is none

Numbers that were measured by hand stand between the comments `{# measured by COMMAND #}` and
`{# end of measured #}`. Any other number that is typed is refused.
"""

import os
import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pandas as pd

from replication.base.citation_file import read_citation_file
from replication.base.errors import InputError
from replication.base.markdown import Markdown, escape_markdown, table
from replication.bundle.bundle import Bundle, figure_path
from replication.documents.claims import ABSTRACT, claim_links
from replication.documents.licences import licence_lines
from replication.documents.scorecards import (
    count_lines,
    headline_lines,
    lines_not_holding,
    reproduction_lines,
)
from replication.documents.study_results import StudyResults, study_page
from replication.documents.typed_numbers import typed_numbers_in_document
from replication.judge.abstract import (
    MARKS,
    MarkedSentence,
    abstract_lines,
    count_marks,
    decided_sentences,
    mark_sentences,
)
from replication.judge.templates import fill_template, verdict_finder
from replication.judge.verdicts import FEWEST_SEEDS, PROBABILITY, Verdict
from replication.judge.wording import short_verdict
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records
from replication.study.claims import Statistical
from replication.study.datasets import dataset_folders
from replication.study.registry import without_latex
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


def cited_documents(
    studies: list[StudyResults], sent_in: Sequence[tuple[str, ...]], jobs: Jobs
) -> dict[str, str]:
    """Return path and text of every document that a template makes.

    Args:
        studies: all studies, with their results.
        sent_in: reproductions by others.
        jobs: the table of all jobs.

    Raises:
        InputError: if a template cites a value that is missing.
    """
    return {
        str(path.with_suffix("")): fill_document(
            path,
            _citable_values(_own_first(studies, path), sent_in, str(path.with_suffix("")), jobs),
        )
        for path in _templates(studies)
    }


def check_documents(studies: Iterable[StudyResults]) -> None:
    """Refuse a number that is typed in a template.

    Raises:
        InputError: names the template and the words around the number.
    """
    for path in _templates(studies):
        if typed := typed_numbers_in_document(path.read_text(encoding="utf-8")):
            raise InputError(f"{path}: the number in '{typed[0]}' is typed; cite it")


def fill_document(path: Path, known: Mapping[str, Any]) -> str:
    """Return a document with the values that its template cites.

    Args:
        path: file of the template.
        known: values that it can cite, by name.

    Raises:
        InputError: if it cites a value that is missing.
    """
    shown = fill_template(path.read_text(encoding="utf-8"), str(path), known)
    # Lines that only name a value leave nothing but their end.
    text = re.sub(r"\n{3,}", "\n\n", shown).strip()
    made = f"Made from {path.name} by `python -m replication generate`."
    if text.startswith(FRONT):
        # Whoever reads a document's metadata expects them in its first line.
        return f"{FRONT}# {made}\n{text.removeprefix(FRONT)}\n"
    return f"<!-- {made} -->\n\n{text}\n"


def _templates(studies: Iterable[StudyResults]) -> Iterator[Path]:
    """Yield the path of every template, relative to the project's folder."""
    for folder in FOLDERS:
        yield from sorted(Path().glob(f"{folder}*.md{SUFFIX}"))
    for told in studies:
        yield from sorted(Path(told.folder).glob(f"*.md{SUFFIX}"))


def _own_first(studies: list[StudyResults], path: Path) -> list[StudyResults]:
    """Return all studies; that in whose folder a document lies comes first."""
    return sorted(studies, key=lambda told: told.name not in path.parts)


@dataclass(frozen=True)
class _Sources:
    """The results that one document can cite; `by_name` has them as templates call them."""

    document: str
    """Path of the document."""
    studies: list[StudyResults]
    """All studies; of equal names, those of an earlier study count."""
    table: Jobs
    """Table of all jobs."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: a text gets copies of tables, and calls the methods without a copy."""
        return self

    @cached_property
    def _elsewhere(self) -> dict[str, MarkedSentence]:
        return decided_sentences((told.jobs.registry, told.verdicts) for told in self.studies)

    @cached_property
    def _records(self) -> Records:
        return Records.of(told.jobs.study for told in self.studies)

    @cached_property
    def _kept(self) -> list[tuple[StudyJobs, Bundle]]:
        """Jobs and reference of each study that has a reference."""
        return [(told.jobs, told.reference) for told in self.studies if told.reference]

    def _study(self, name: str) -> StudyResults:
        for told in self.studies:
            if told.name == name:
                return told
        raise LookupError(f"there is no study {name}")

    def _lines(self, lines: Callable[[Sequence[StudyResults]], list[str]]) -> Callable[..., str]:
        """Return a function from names of studies, all if none is named, to lines about them."""
        every = [told.name for told in self.studies]
        return lambda *names: "\n".join(lines([*map(self._study, names or every)]))

    @cached_property
    def verdict(self) -> Callable[[str], Verdict]:
        """Function from a claim, of the own study or after another one's name, to a verdict."""
        whole = {
            f"{study.study.name}/{claim}": verdict
            for study, kept in self._kept
            for claim, verdict in kept.verdicts.items()
        }
        return verdict_finder(ChainMap(*(kept.verdicts for _, kept in self._kept), whole).get)

    def judged(self, *claims: str) -> str:
        """Return verdicts in words, with links to the claims."""
        return "; ".join(map(self._judged, claims))

    def _judged(self, name: str) -> str:
        verdict = self.verdict(name)
        study, _, claim = name.rpartition("/")
        home = study or next(each.study.name for each, kept in self._kept if name in kept.verdicts)
        claims = self._study(home).jobs.registry.claims
        late = any(each.declared_late for each in claims if each.id == claim)
        link = claim_links(self.document, home)(claim, None)
        return f"{link}: {short_verdict(verdict, late=late)}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the numbers of all figures, by their paths below `figures/`, without ending."""
        return {
            study.table(name).removeprefix("figures/").removesuffix(".csv"): kept.tables[path]
            for study, kept in self._kept
            for name in study.figures
            if (path := figure_path(name)) in kept.tables
        }

    def pictures(self, study: str, *names: str) -> str:
        """Return links to pictures of the gallery."""
        folder = Path(GALLERY, *Path(self._study(study).jobs.study.figures).parts[1:])
        there = os.path.relpath(folder, Path(self.document).parent)
        return ", ".join(f"[`{name}`]({there}/{name}.png)" for name in names)

    def abstract(self, study: str) -> str:
        """Return an abstract with its marks."""
        own, link = self._study(study), claim_links(self.document, study)
        return "\n".join(abstract_lines(own.jobs.registry, own.verdicts, self._elsewhere, link))

    def cost(self, study: str = "") -> str:
        """Return time and memory of all jobs of a study, or of all papers, in words."""
        told = [self._study(study)] if study else [*filter(_is_of_a_paper, self.studies)]
        costs = [cost_of_study(self.table, each.name, self._records) for each in told]
        return cost_in_words([*chain.from_iterable(costs)])

    def needed_seeds(self, study: str) -> str:
        """Return the numbers of seeds that would decide the open claims of a study, as a table."""
        told = self._study(study)
        if told.reference is None:
            raise LookupError(f"{study} has no reference")
        rows = claim_rows(told.jobs, told.reference, self._records)
        link = claim_links(self.document, study)
        linked = [(link(claim, None), *others) for _, claim, *others in rows]
        return "\n".join(table(CLAIM_HEADER[1:], linked))

    def by_name(self) -> dict[str, Any]:
        """Return everything of the studies that a document can cite, by name."""
        document = self.document
        return {
            "tables": self.tables(),
            "settings": {
                study.study.name: study.settings.model_dump(mode="json") for study, _ in self._kept
            },
            "pictures": self.pictures,
            "abstract": self.abstract,
            "abstracts": self._lines(lambda told: _mark_lines(told, self._elsewhere, document)),
            "refuted": self._lines(lambda told: _refuted_lines(told, document)),
            "headlines": self._lines(lambda told: headline_lines(told, document)),
            "not_holding": self._lines(lambda told: lines_not_holding(told, document)),
            "counts": self._lines(count_lines),
            "cost": self.cost,
            "needed_seeds": self.needed_seeds,
            "verdict": self.verdict,
            "judged": self.judged,
        }


def _citable_values(
    studies: list[StudyResults], sent_in: Sequence[tuple[str, ...]], document: str, jobs: Jobs
) -> dict[str, Any]:
    """Return the values that a document can cite, by name; equal names are the first study's."""
    project = read_citation_file(Path())
    return {
        **_Sources(document, studies, jobs).by_name(),
        **_rules_of_judgement(),
        "reproductions": lambda: "\n".join(reproduction_lines(sent_in)),
        "benchmark": lambda name: pd.read_csv(f"benchmarks/{name}.csv"),
        "licences": lambda: "\n".join(licence_lines(dataset_folders())),
        "project": project,
        "site": str(project.get("url", "")),
    }


def _rules_of_judgement() -> dict[str, Any]:
    """Return the numbers by which the engine judges claims and compares with a reference."""
    return {
        "level": Statistical.model_fields["level"].default,
        "fewest_seeds": FEWEST_SEEDS,
        "probability": PROBABILITY,
        "tolerances": {
            each.name: each._asdict() for each in (ACROSS_PROCESSORS, COUNTS, LOGARITHM_OF_P)
        },
        "standard_errors": STANDARD_ERRORS,
    }


def _mark_lines(
    studies: Iterable[StudyResults], elsewhere: Mapping[str, MarkedSentence], document: str
) -> list[str]:
    """Return the number of sentences by mark, paper and version, as the lines of a table."""
    rows: dict[str, tuple[str, ...]] = {}
    for told in studies:
        registry = told.jobs.registry
        place = _from_document(document, told.name)
        for version, marks in count_marks(registry, told.verdicts, elsewhere).items():
            # A paper's other study has the same abstract.
            if registry.url and version not in rows:
                link = Markdown(f"[`{told.name}`]({place}#{ABSTRACT}), {escape_markdown(version)}")
                rows[version] = (link, *(str(count or "") for count in marks.values()))
    return table(("abstract", *MARKS), rows.values())


def _from_document(document: str, study: str) -> str:
    """Return the path of a study's claims from a document."""
    return os.path.relpath(study_page(study, "claims"), Path(document).parent)


def _refuted_lines(studies: Iterable[StudyResults], document: str) -> list[str]:
    """Return the sentences of abstracts that do not hold, as the lines of a list.

    Sentences of several versions that the same claims decide are one line, which names versions.
    """
    return [
        _refuted_line(told, claims, versions, document)
        for told in filter(_is_of_a_paper, studies)
        for (claims, _), versions in _refuted_sentences(told).items()
    ]


def _refuted_sentences(
    told: StudyResults,
) -> dict[tuple[tuple[str, ...], int], dict[str, MarkedSentence]]:
    """Return a study's sentences that do not hold, by version.

    A key names the claims, and tells sentences of a version that have the same ones apart.
    """
    found: dict[tuple[tuple[str, ...], int], dict[str, MarkedSentence]] = {}
    for abstract in told.jobs.registry.abstracts:
        seen: Counter[tuple[str, ...]] = Counter()
        for each in mark_sentences(told.jobs.registry, abstract.sentences, told.verdicts):
            claims = tuple(each.sentence.claims)
            if each.mark == "does not hold":
                found.setdefault((claims, seen[claims]), {})[abstract.version] = each
                seen[claims] += 1
    return found


def _refuted_line(
    told: StudyResults, claims: Iterable[str], versions: Mapping[str, MarkedSentence], document: str
) -> str:
    """Return the line of a sentence that does not hold; `versions` has it by version."""
    link = claim_links(document, told.name)
    first = next(iter(versions.values()))
    words = without_latex(first.sentence.words)
    same = [
        version for version, each in versions.items() if without_latex(each.sentence.words) == words
    ]
    others = [version for version in versions if version not in same]
    where = "; in other words in ".join(" and ".join(each) for each in (same, others) if each)
    shown = f", {escape_markdown(where)}" * (len(told.jobs.registry.abstracts) > 1)
    links = ", ".join(link(claim, None) for claim in claims)
    plain = f": {escape_markdown(first.plain)}" if first.plain else ""
    return f"* `{told.name}`: “{escape_markdown(words)}” ({links}){shown}{plain}"


def _is_of_a_paper(told: StudyResults) -> bool:
    return bool(told.jobs.registry.url)
