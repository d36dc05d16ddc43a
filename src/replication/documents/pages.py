"""Generated pages of a study: its claims and methods, and pages for the authors of its paper.

A page for authors is about an erratum, or a claim that does not hold. For a statement of the theory
somebody writes a script that stands alone, in the folder `authors` of the study, with its output
beside it. For a claim over seeds the page has the values of the seeds.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from replication.base.markdown import Markdown, escape_markdown, table
from replication.base.places import PROJECT
from replication.bundle.bundle import EVIDENCE, Bundle
from replication.documents.methods import methods_table
from replication.judge.abstract import Link, MarkedSentence, abstract_lines
from replication.judge.statistics import mean_of, median_of
from replication.judge.verdicts import (
    DECLARED_LATE,
    HOLDING,
    NOT_HOLDING,
    Comparison,
    Verdict,
    estimate_and_range,
    least_favourable_first,
)
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import ERRATA, GROUPS, SHOWN, THEORY, Claim, Interval

MOST_CELLS = 8
"""Largest number of comparisons whose seeds are shown."""
VALUE = "{:.5g}".format
"""Form of a seed's value."""
ESTIMATE = "{:.3g}".format
"""Form of a mean or median, and of the ends of its interval."""


def _found_and_needed(counted: Sequence[Comparison]) -> tuple[str, str]:
    """Return the value that speaks most against a claim, with its name, and the range it needs."""
    found, needed = estimate_and_range(counted, ESTIMATE)
    which = f"{least_favourable_first(counted)[0].cell}: " if len(counted) > 1 else ""
    return f"{which}{found}", needed


def _escape_unless_markdown(text: object) -> str:
    return text if isinstance(text, Markdown) else escape_markdown(str(text))


ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    finalize=_escape_unless_markdown,
)
ENVIRONMENT.globals |= {"DECLARED_LATE": DECLARED_LATE, "GROUPS": GROUPS}
ENVIRONMENT.filters |= {
    "cell": lambda text: text.replace("|", r"\|"),
    "found_and_needed": _found_and_needed,
    "table": lambda rows, header: Markdown("\n".join(table(header, rows))),
}


class StudyResults(NamedTuple):
    """A study with the results that are kept of it: the source of every generated document."""

    jobs: StudyJobs
    reference: Bundle | None

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.jobs.study.name

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Verdicts that are kept, by number of the claim."""
        return self.reference.verdicts if self.reference else {}


def study_page(study: str, name: str) -> str:
    """Return the path of a generated page of a study, from the project's folder."""
    return f"docs/{study}/{name}.md"


def claim_links(document: str, study: str) -> Link:
    """Return a function that makes links to claims, of a study unless another one is named.

    `document` is the path of the file that has them, relative to the project's folder.
    """

    def link(claim: str, other: str | None) -> Markdown:
        page = study_page(other or study, "claims")
        path = "" if document == page else os.path.relpath(page, Path(document).parent)
        return Markdown(f"[{claim}]({path}#{claim})")

    return link


def is_contested(claim: Claim, verdict: Verdict) -> bool:
    """Say whether one of the paper's own claims holds in part, does not hold, or is open."""
    return claim.group in {SHOWN, THEORY} and verdict.verdict in NOT_HOLDING


def claims_page(
    study: StudyResults, elsewhere: Mapping[str, MarkedSentence] = MappingProxyType({})
) -> str:
    """Return the claims and methods of a study, with the verdicts, as Markdown.

    `elsewhere` has the marks of sentences of the abstract that another study decides.
    """
    registry, settings = study.jobs.registry, study.jobs.settings.model_dump(mode="json")
    links = claim_links(study_page(study.name, "claims"), study.name)
    return ENVIRONMENT.get_template("claims.md.jinja").render(
        study=study,
        registry=registry,
        disputed=[claim.id for claim in disputed_claims(study)],
        abstract=Markdown("\n".join(abstract_lines(registry, study.verdicts, elsewhere, links))),
        methods=Markdown("\n".join(methods_table(registry, settings)).rstrip()),
    )


def author_pages(study: StudyResults) -> dict[str, str]:
    """Return a study's pages for authors, and their list, by path from the project's folder."""
    claims = [*disputed_claims(study)]
    pages = {claim.id: _author_page(study, claim) for claim in claims}
    if pages:
        pages["README"] = ENVIRONMENT.get_template("authors.md.jinja").render(
            study=study, registry=study.jobs.registry, disputed=claims
        )
    return {study_page(study.name, f"authors/{name}"): text for name, text in pages.items()}


def disputed_claims(study: StudyResults) -> Iterator[Claim]:
    """Yield a paper's errata, except those that hold, and its claims that do not hold."""
    for claim in study.jobs.registry.claims if study.jobs.registry.url else ():
        verdict = study.verdicts.get(claim.id)
        outcome = verdict.verdict if verdict else "not tested"
        is_wrong = claim.group in (SHOWN, THEORY) and outcome == "does not hold"
        if is_wrong or (claim.group == ERRATA and outcome not in HOLDING):
            yield claim


def written_script(study: StudyResults, claim: Claim) -> Path | None:
    """Return the script that somebody wrote for a claim; R2_R3.py is for two claims."""
    scripts = (study.jobs.study.folder / "authors").glob("*.py")
    return next((each for each in scripts if claim.id in each.stem.split("_")), None)


def _author_page(study: StudyResults, claim: Claim) -> str:
    verdict, script = study.verdicts.get(claim.id), written_script(study, claim)
    registry, shown = study.jobs.registry, dict[str, Any](printed="", seeds=[])
    if script:
        printed = script.with_suffix(".txt").read_text(encoding="utf-8")
        shown["printed"] = Markdown(printed.rstrip())
        shown["script"] = script.relative_to(PROJECT).as_posix()
    elif verdict and isinstance(claim.test, Interval):
        shown["seeds"], shown["needed"] = _seeds(study, claim, claim.test)
    return ENVIRONMENT.get_template("author.md.jinja").render(
        claim=claim,
        is_erratum=claim.group == ERRATA,
        registry=registry,
        verdict=verdict,
        scale=registry.scale_of(claim, verdict.seeds if verdict else 0),
        **shown,
    )


def _seeds(study: StudyResults, claim: Claim, test: Interval) -> tuple[list[tuple[str, ...]], str]:
    """Return the values of the seeds of some comparisons, each with its interval alone.

    The second text is the range that the claim needs.
    """
    assert study.reference
    verdict, evidence = study.verdicts[claim.id], study.reference.tables[EVIDENCE]
    against = [item for item in verdict.counted if item.decision != "holds"]
    shown = (against or verdict.counted)[:MOST_CELLS]
    center_of, seeds_of = (np.mean, mean_of) if test.center == "mean" else (np.median, median_of)
    own = evidence[evidence["claim"] == claim.id]
    rows: list[tuple[str, ...]] = []
    for item in shown:
        values = [*own.loc[own["cell"] == item.cell, "value"]]
        ends = map(ESTIMATE, seeds_of(values).interval(0.95))
        seeds = ", ".join(map(VALUE, values))
        rows.append((item.cell, seeds, ESTIMATE(center_of(values)), " to ".join(ends)))
    return rows, estimate_and_range(shown[:1], ESTIMATE)[1]
