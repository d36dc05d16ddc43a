"""Generated pages of a study: its claims and methods, and pages for the authors of its paper.

A page for authors is about an erratum, or a claim that does not hold. For a statement of the theory
somebody writes a script that stands alone, in the folder `authors` of the study, with its output
beside it. For a claim over seeds the page has the values of the seeds.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from replication.base.markdown import Markdown, escape_markdown, table
from replication.bundle.bundle import EVIDENCE
from replication.documents.methods import methods_table
from replication.documents.study_results import StudyResults, claim_links, study_page
from replication.judge.abstract import MarkedSentence, abstract_lines, both_scales
from replication.judge.statistics import mean_of, median_of
from replication.judge.verdicts import (
    DECLARED_LATE,
    HOLDING,
    estimate_and_range,
    least_favourable_first,
)
from replication.study.claims import ERRATA, GROUPS, SHOWN, THEORY, Claim, Interval
from replication.study.registry import AT_SCALE

MOST_CELLS = 8
"""Largest number of comparisons whose seeds are shown."""
VALUE = "{:.5g}".format
"""Form of a seed's value."""
ESTIMATE = "{:.3g}".format
"""Form of a mean or median, and of the ends of its interval."""
ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
ENVIRONMENT.globals["AT_SCALE"] = AT_SCALE
ENVIRONMENT.filters |= {
    "md": escape_markdown,
    "table": lambda rows, header: "\n".join(table(header, rows)),
}


def claims_page(
    told: StudyResults, elsewhere: Mapping[str, MarkedSentence] = MappingProxyType({})
) -> str:
    """Return the claims and methods of a study, with the verdicts, as Markdown.

    `elsewhere` has the marks of sentences of the abstract that another study decides.
    """
    registry, settings = told.jobs.registry, told.jobs.settings.model_dump(mode="json")
    links = claim_links(study_page(told.name, "claims"), told.name)
    for_authors = {claim.id for claim in disputed_claims(told)}
    rows: dict[str, list[tuple[str, ...]]] = {group: [] for group in GROUPS}
    for claim in registry.claims:
        rows[claim.group].append(_claim_row(told, claim, claim.id in for_authors))
    return ENVIRONMENT.get_template("claims.md.jinja").render(
        study=told.name,
        registry=registry,
        for_authors=for_authors,
        abstract="\n".join(abstract_lines(registry, told.verdicts, elsewhere, links)),
        groups=rows.items(),
        methods="\n".join(methods_table(registry, settings)).rstrip(),
    )


def _claim_row(told: StudyResults, claim: Claim, is_disputed: bool) -> tuple[str, ...]:
    verdict = told.verdicts.get(claim.id)
    counted = verdict.counted if verdict else []
    found, needed = estimate_and_range(counted, ESTIMATE)
    which = f"{least_favourable_first(counted)[0].cell}: " if len(counted) > 1 else ""
    count = f", {verdict.holding} of {len(counted)}" if verdict and counted else ""
    here = (
        verdict.verdict if verdict else "not tested"
    ) + f", {DECLARED_LATE}" * claim.declared_late
    more = f" [For the authors](authors/{claim.id}.md)" * is_disputed
    return (
        Markdown(f'<a id="{claim.id}"></a>{claim.id}'),
        both_scales(here + count, told.jobs.registry.at_paper_scale.get(claim.id, "")),
        f"{which}{found}",
        needed,
        str(verdict.seeds or "") if verdict else "",
        Markdown(escape_markdown(claim.statement) + more),
        claim.quantity or "",
        claim.where,
    )


def author_pages(told: StudyResults) -> dict[str, str]:
    """Return a study's pages for authors, and their list, by path from the project's folder."""
    claims = [*disputed_claims(told)]
    if not claims:
        return {}
    rows = [
        (
            Markdown(f"[{claim.id}]({claim.id}.md)"),
            claim.where,
            claim.statement,
            told.verdicts[claim.id].verdict if claim.id in told.verdicts else "not computed",
            claim.answer or "none yet",
        )
        for claim in claims
    ]
    registry = told.jobs.registry
    listed = ENVIRONMENT.get_template("authors.md.jinja").render(registry=registry, rows=rows)
    pages = {claim.id: _author_page(told, claim) for claim in claims} | {"README": listed}
    return {study_page(told.name, f"authors/{name}"): text for name, text in pages.items()}


def disputed_claims(told: StudyResults) -> Iterator[Claim]:
    """Yield a paper's errata, except those that hold, and its claims that do not hold."""
    for claim in told.jobs.registry.claims if told.jobs.registry.url else ():
        verdict = told.verdicts.get(claim.id)
        outcome = verdict.verdict if verdict else "not tested"
        is_wrong = claim.group in (SHOWN, THEORY) and outcome == "does not hold"
        if is_wrong or (claim.group == ERRATA and outcome not in HOLDING):
            yield claim


def written_script(told: StudyResults, claim: Claim) -> Path | None:
    """Return the script that somebody wrote for a claim; R2_R3.py is for two claims."""
    scripts = (told.jobs.study.folder / "authors").glob("*.py")
    return next((each for each in scripts if claim.id in each.stem.split("_")), None)


def _author_page(told: StudyResults, claim: Claim) -> str:
    verdict, script = told.verdicts.get(claim.id), written_script(told, claim)
    shown: dict[str, Any] = {}
    if script:
        shown["printed"] = script.with_suffix(".txt").read_text(encoding="utf-8").rstrip()
        shown["script"] = f"{told.folder.as_posix()}/authors/{script.name}"
    elif verdict and isinstance(claim.test, Interval):
        shown["seeds"], shown["needed"] = _seeds(told, claim, claim.test)
    return ENVIRONMENT.get_template("author.md.jinja").render(
        claim=claim,
        is_erratum=claim.group == ERRATA,
        registry=told.jobs.registry,
        verdict=verdict,
        scale=told.jobs.registry.scale_of(claim, verdict.seeds if verdict else 0),
        **{"printed": "", "seeds": []} | shown,
    )


def _seeds(told: StudyResults, claim: Claim, test: Interval) -> tuple[list[tuple[str, ...]], str]:
    """Return the values of the seeds of some comparisons, each with its interval alone.

    The second text is the range that the claim needs.
    """
    assert told.reference
    verdict, evidence = told.verdicts[claim.id], told.reference.tables[EVIDENCE]
    against = [item for item in verdict.counted if item.decision != "holds"]
    shown = (against or verdict.counted)[:MOST_CELLS]
    is_mean = test.center == "mean"
    rows: list[tuple[str, ...]] = []
    for item in shown:
        is_own = (evidence["claim"] == claim.id) & (evidence["cell"] == item.cell)
        values = [*evidence.loc[is_own, "value"]]
        center = ESTIMATE(np.mean(values) if is_mean else np.median(values))
        ends = (mean_of if is_mean else median_of)(values).interval(0.95)
        rows.append(
            (item.cell, ", ".join(map(VALUE, values)), center, " to ".join(map(ESTIMATE, ends)))
        )
    return rows, estimate_and_range(shown[:1], ESTIMATE)[1]
