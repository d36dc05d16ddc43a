"""The claims of all papers and their verdicts, as one document."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from replication.base.markdown import Markdown, escape_markdown, table
from replication.documents.authors import disputed_claims
from replication.documents.checklist import StudyResults
from replication.documents.methods import methods_table
from replication.judge.abstract import Link, MarkedSentence, abstract_lines, decided_sentences
from replication.judge.verdicts import Verdict
from replication.study.claims import Test
from replication.study.registry import AT_SCALE, Registry

CLAIMS_PATH = "docs/claims.md"
"""Path of the document in a project."""


def claim_links(document: str, study: str) -> Link:
    """Return a function that makes links to claims.

    Args:
        document: path of the file that has them, relative to the project's folder.
        study: study of the claims for which no other one is named.
    """
    here = "" if document == CLAIMS_PATH else os.path.relpath(CLAIMS_PATH, Path(document).parent)
    return lambda claim, other: Markdown(f"[{claim}]({here}#{_anchor(other or study, claim)})")


def _anchor(study: str, claim: str) -> str:
    return f"{study}-{claim}"


def claims_document(studies: Sequence[StudyResults]) -> str:
    """Return the claims and methods of all studies, with their verdicts, as Markdown."""
    elsewhere = decided_sentences((told.jobs.registry, told.verdicts) for told in studies)
    return "\n".join(
        [_contents_table(studies), *(_claims_of_study(told, elsewhere) for told in studies)]
    )


def _contents_table(studies: Sequence[StudyResults]) -> str:
    """Return links to the papers' claims, with the number of claims."""
    registries = [(told.jobs.study.name, told.jobs.registry) for told in studies]
    rows = [
        (Markdown(f"[`{name}`](#claims-of-{name})"), registry.title, str(len(registry.claims)))
        for name, registry in registries
    ]
    return "\n".join([*table(("study", "paper", "claims"), rows), ""])


def _claims_of_study(told: StudyResults, elsewhere: Mapping[str, MarkedSentence]) -> str:
    name = told.jobs.study.name
    registry, settings = told.jobs.registry, told.jobs.settings.model_dump(mode="json")
    pages = {claim.id for claim in disputed_claims(told)} if registry.url else set()
    claims = registry_to_markdown(name, registry, told.verdicts, elsewhere, pages)
    methods = "\n".join(methods_table(registry, settings))
    parts = (f'<a id="claims-of-{name}"></a>', claims, f'<a id="methods-of-{name}"></a>', methods)
    return "\n\n".join(parts)


def _verdict_text(verdict: Verdict) -> str:
    told = f"{verdict.verdict}: {verdict.summary}"
    if verdict.resolution is None:
        return told
    return f"{told}; {verdict.seeds} seeds resolve {verdict.resolution:.2g} SD"


def _test_in_words(test: Test) -> str:
    """Return the kind of a test and its own numbers, without its level."""
    settings = test.model_dump(exclude={"kind", "level"}, exclude_none=True)
    return ", ".join([test.kind, *(f"{name} {value}" for name, value in settings.items())])


def registry_to_markdown(
    study: str,
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[str, MarkedSentence] = MappingProxyType({}),
    for_authors: Collection[str] = (),
) -> str:
    """Return a registry as Markdown: the abstract and a table of claims.

    Args:
        study: name of the study.
        registry: registry of the study.
        verdicts: verdicts by number of the claim, as far as judged.
        elsewhere: marks of sentences of the abstract that another study decides.
        for_authors: numbers of the claims that have a page for the paper's authors.
    """
    results = {name: _verdict_text(found) for name, found in verdicts.items()}
    claims = [
        (
            Markdown(f'<a id="{_anchor(study, claim.id)}"></a>{claim.id}'),
            claim.group,
            claim.where,
            claim.statement,
            f"“{claim.quote.words}” ({claim.quote.place})" if claim.quote else "",
            Markdown(
                escape_markdown(
                    results.get(claim.id, f"not tested: {claim.not_tested or 'not judged yet'}")
                )
                + f" [For the authors](authors/{study}/{claim.id}.md)" * (claim.id in for_authors)
            ),
            registry.scale_of(claim, verdicts[claim.id].seeds if claim.id in verdicts else 0),
            f"{claim.quantity}: {claim.expected}" if claim.test else "",
            f"{_test_in_words(claim.test)}: {claim.why}" if claim.test else "",
            claim.remarks,
            Markdown("<br>".join(f"`{name}`" for name in claim.checked_by)),
        )
        for claim in registry.claims
    ]
    header = (
        "id", "about", "paper", "claim", "in its words", "verdict", "scale", "measured: expected",
        "test", "note", "checks",
    )  # fmt: skip
    lines = [
        f"# {escape_markdown(registry.title)}",
        "",
        escape_markdown(f"{registry.authors}. {registry.venue}."),
        "",
        "Generated by `python -m replication generate` from the study's registry and reference."
        " What stands in it: [how a verdict is made](verification.md#how-a-verdict-is-made).",
        "",
        *((escape_markdown(f"{AT_SCALE} {registry.scale}"), "") if registry.scale else ()),
        *((escape_markdown(f"Names of cells: {registry.cells}"), "") if registry.cells else ()),
        *abstract_lines(registry, verdicts, elsewhere, claim_links(CLAIMS_PATH, study)),
        "## Claims",
        "",
        *table(header, claims),
        "",
    ]
    return "\n".join(lines)
