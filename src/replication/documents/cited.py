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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.errors import InputError
from replication.base.markdown import Markdown, escape_markdown, table
from replication.base.places import PROJECT
from replication.base.project import read_citation_file
from replication.bundle.bundle import figure_path
from replication.documents.pages import StudyResults, claim_links, is_contested, study_page
from replication.documents.texts import typed_numbers_in_document
from replication.judge.abstract import (
    MARKS,
    Link,
    MarkedSentence,
    abstract_lines,
    count_marks,
    decided_sentences,
    mark_sentences,
)
from replication.judge.templates import fill_template
from replication.judge.verdicts import (
    FEWEST_SEEDS,
    OUTCOMES,
    PROBABILITY,
    Verdict,
    estimate_and_range,
    how_much,
    short_verdict,
)
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.study.claims import GROUPS, Claim, Statistical
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
from replication.verify.receipts import COLUMNS

FRONT = "---\n"
"""Beginning of a document that has metadata in YAML before its text."""
FOLDERS = ("", "config/", "docs/**/")
"""Folders, besides those of studies, whose documents may be templates."""
GALLERY = "docs/gallery"
"""Folder of the pictures that documents show."""
HEADER = ("claim", "verdict", "how much", "found", "needed", "what is measured", "id")
"""Columns of the tables of claims."""
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
    paths = {str(path.with_suffix("")): path for path in templates()}
    return {
        document: fill_document(path, Citable(document, studies, sent_in, jobs).by_name())
        for document, path in paths.items()
    }


def templates() -> Iterator[Path]:
    """Yield the path of every template, relative to the project's folder."""
    studies = (f"{study.folder.relative_to(PROJECT)}/" for study in find_studies().values())
    for folder in (*FOLDERS, *studies):
        yield from sorted(Path().glob(f"{folder}*.md.jinja"))


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


class Citable:
    """The results that one document can cite; its public names are those of templates."""

    def __init__(
        self,
        document: str,
        studies: list[StudyResults],
        sent_in: Sequence[tuple[str, ...]],
        jobs: Jobs,
    ) -> None:
        """Take the document's path; of equal names, those of the study in its folder count."""
        own_first = sorted(studies, key=lambda each: each.name not in Path(document).parts)
        self._document, self._sent_in, self._jobs = document, sent_in, jobs
        self._studies = {each.name: each for each in own_first}
        self.project = read_citation_file(Path())
        self.site = str(self.project.get("url", ""))

    def by_name(self) -> dict[str, Any]:
        """Return everything that a document can cite, by name."""
        names = (name for name in dir(self) if name[0] != "_" and name != "by_name")
        return RULES | {name: getattr(self, name) for name in names}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Numbers of all figures, by their paths below `figures/`, without ending."""
        return {
            each.jobs.table(name).removeprefix("figures/").removesuffix(".csv"): found[path]
            for each in self._studies.values()
            if each.reference and (found := each.reference.tables)
            for name in each.jobs.figures
            if (path := figure_path(name)) in found
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Default settings of the studies, as plain data."""
        known = self._studies.items()
        return {name: each.jobs.settings.model_dump(mode="json") for name, each in known}

    def verdict(self, name: str) -> Verdict:
        """Return the verdict on a claim of the own study, or of the study before it: `mine/T1`."""
        return self._find(name)[1]

    def judged(self, *names: str) -> str:
        """Return verdicts in words, with links to the claims."""
        said = []
        for name in names:
            study, verdict = self._find(name)
            claims = study.jobs.registry.claims
            late = any(each.declared_late for each in claims if each.id == verdict.claim)
            link = self._link(study)(verdict.claim, None)
            said.append(f"{link}: {short_verdict(verdict, late=late)}")
        return "; ".join(said)

    def pictures(self, study: str, *names: str) -> str:
        """Return links to pictures of the gallery."""
        (found,) = self._named(study)
        there = self._path_to(Path(GALLERY, *Path(found.jobs.study.figures).parts[1:]))
        return ", ".join(f"[`{name}`]({there}/{name}.png)" for name in names)

    def abstract(self, study: str) -> str:
        """Return an abstract with its marks."""
        (found,) = self._named(study)
        known = found.jobs.registry, found.verdicts, self._elsewhere()
        return "\n".join(abstract_lines(*known, self._link(found)))

    def abstracts(self, *studies: str) -> str:
        """Return the number of sentences by mark, paper and version, as a table."""
        rows: dict[str, tuple[str, ...]] = {}
        for each in filter(_is_of_a_paper, self._named(*studies)):
            page = self._path_to(Path(study_page(each.name, "claims")))
            counts = count_marks(each.jobs.registry, each.verdicts, self._elsewhere())
            for version, marks in counts.items():
                words = f"[`{each.name}`]({page}#the-abstract), {escape_markdown(version)}"
                # A paper's other study has the same abstract.
                row = (Markdown(words), *(str(count or "") for count in marks.values()))
                rows.setdefault(version, row)
        return "\n".join(table(("abstract", *MARKS), rows.values()))

    def refuted(self, *studies: str) -> str:
        """Return the sentences of abstracts that do not hold, as a list."""
        papers = filter(_is_of_a_paper, self._named(*studies))
        return "\n".join(line for each in papers for line in refuted_lines(each, self._link(each)))

    def headlines(self, *studies: str) -> str:
        """Return the claims that stand for the others, as a table."""
        return self._claims(studies, lambda claim, _: claim.headline)

    def not_holding(self, *studies: str) -> str:
        """Return the claims of papers that hold in part, do not hold or are open, as a table."""
        return self._claims(
            studies,
            lambda claim, verdict: claim.statement if is_contested(claim, verdict) else None,
        )

    def _claims(
        self, studies: tuple[str, ...], tell: Callable[[Claim, Verdict], str | None]
    ) -> str:
        """Return a table of the claims of studies about which there is something to tell."""
        rows = []
        for study in self._named(*studies):
            for claim in study.jobs.registry.claims:
                verdict = study.verdicts.get(claim.id)
                if not verdict or not (words := tell(claim, verdict)):
                    continue
                rows.append(
                    (
                        f"{words} The authors: {claim.answer}" if claim.answer else words,
                        Markdown(f"**{verdict.verdict}**"),
                        how_much(verdict.comparisons),
                        *estimate_and_range(verdict.comparisons, "{:.3g}".format),
                        str(claim.quantity),
                        self._link(study)(claim.id, None),
                    )
                )
        return "\n".join(table(HEADER, rows))

    def counts(self, *studies: str) -> str:
        """Return the number of claims by group and verdict, as a table."""
        found = Counter(
            (claim.group, verdict.verdict if verdict else "not tested")
            for study in self._named(*studies)
            if study.reference
            for claim in study.jobs.registry.claims
            for verdict in [study.verdicts.get(claim.id)]
        )
        rows = [(group, *(str(found[group, each] or "") for each in OUTCOMES)) for group in GROUPS]
        return "\n".join(table(("", *OUTCOMES), [row for row in rows if any(row[1:])]))

    def cost(self, *studies: str) -> str:
        """Return time and memory of all jobs of studies, of all papers if none is named."""
        named = self._named(*studies)
        papers = named if studies else filter(_is_of_a_paper, named)
        return Costs(self._jobs).in_words(*(each.name for each in papers))

    def needed_seeds(self, study: str) -> str:
        """Return the numbers of seeds that would decide the open claims of a study, as a table."""
        (found,) = self._named(study)
        if found.reference is None:
            raise LookupError(f"{study} has no reference")
        rows = claim_rows(found.jobs, found.reference, Costs(self._jobs).records)
        linked = [(self._link(found)(claim, None), *others) for _, claim, *others in rows]
        return "\n".join(table(CLAIM_HEADER[1:], linked))

    def reproductions(self) -> str:
        """Return the receipts that others sent in as a table, a row for each."""
        rows = [(study, *map(_as_code, COLUMNS, row)) for study, *row in self._sent_in]
        head = ("study", *COLUMNS)
        return "\n".join(table(head, rows)) if rows else "None has been sent in yet."

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
        for name in names:
            if name not in self._studies:
                raise LookupError(f"there is no study {name}")
        return [self._studies[name] for name in names or self._studies]

    def _find(self, name: str) -> tuple[StudyResults, Verdict]:
        """Return study and verdict of a claim."""
        study, _, claim = name.rpartition("/")
        for each in self._studies.values():
            if claim in each.verdicts and study in ("", each.name):
                return each, each.verdicts[claim]
        raise LookupError(f"there is no verdict on claim {name}")

    def _elsewhere(self) -> dict[str, MarkedSentence]:
        known = self._studies.values()
        return decided_sentences((each.jobs.registry, each.verdicts) for each in known)

    def _link(self, study: StudyResults) -> Link:
        return claim_links(self._document, study.name)

    def _path_to(self, path: Path) -> str:
        return os.path.relpath(path, Path(self._document).parent)


def refuted_lines(study: StudyResults, link: Link) -> Iterator[str]:
    """Yield the sentences of abstracts that do not hold, as the lines of a list.

    A sentence that stands in several versions is one line, which names them.
    """
    registry = study.jobs.registry
    found: dict[tuple[str, ...], list[str]] = {}
    for abstract in registry.abstracts:
        for each in mark_sentences(registry, abstract.sentences, study.verdicts):
            if each.mark == "does not hold":
                told = without_latex(each.sentence.words), each.plain, *each.sentence.claims
                found.setdefault(told, []).append(abstract.version)
    for (words, plain, *claims), versions in found.items():
        links = ", ".join(link(claim, None) for claim in claims)
        where = f", {escape_markdown(' and '.join(versions))}" * (len(registry.abstracts) > 1)
        more = f": {escape_markdown(plain)}" if plain else ""
        yield f"* `{study.name}`: “{escape_markdown(words)}” ({links}){where}{more}"


def _as_code(column: str, text: str) -> str:
    """Return a cell of a receipt, as code if a stranger wrote it: nothing in it is markup then."""
    if not text or column in {"date", "level", "verdicts", "runs"}:
        return text
    plain = re.sub("[`|]", " ", text)
    return Markdown(f"`{plain}`")


def _is_of_a_paper(study: StudyResults) -> bool:
    return bool(study.jobs.registry.url)
