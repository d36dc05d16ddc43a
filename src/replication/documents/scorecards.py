"""Tables of documents: claims that stand for others or do not hold, counts, reproductions."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from replication.base.markdown import Markdown, table
from replication.documents.claims import claim_links
from replication.documents.study_results import StudyResults
from replication.judge.verdicts import NOT_HOLDING, OUTCOMES, Verdict
from replication.judge.wording import estimate_and_range, how_much
from replication.study.claims import GROUPS, SHOWN, THEORY, Claim
from replication.verify.receipts import COLUMNS

NONE_SENT_IN = "None has been sent in yet."


class _Judged(NamedTuple):
    """A claim with its verdict."""

    study: str
    claim: Claim
    verdict: Verdict | None


def _judged_claims(studies: Iterable[StudyResults]) -> list[_Judged]:
    """Return all claims of studies that have a reference, with their verdicts."""
    return [
        _Judged(told.name, claim, told.reference.verdicts.get(claim.id))
        for told in studies
        if told.reference
        for claim in told.jobs.registry.claims
    ]


def count_lines(studies: Iterable[StudyResults]) -> list[str]:
    """Return the number of claims by group and verdict, as the lines of a table."""
    found = Counter(
        (each.claim.group, each.verdict.verdict if each.verdict else "not tested")
        for each in _judged_claims(studies)
    )
    counts = ((group, [found[group, outcome] for outcome in OUTCOMES]) for group in GROUPS)
    rows = ((group, *(str(number or "") for number in row)) for group, row in counts if any(row))
    return table(("", *OUTCOMES), rows)


def headline_lines(studies: Iterable[StudyResults], document: str) -> list[str]:
    """Return the claims that stand for the others, as the lines of a table.

    Args:
        studies: those whose claims are shown.
        document: path of the file that has the table, relative to the project's folder.
    """
    judged = _judged_claims(studies)
    return _claim_lines(((each, each.claim.headline) for each in judged), document)


def lines_not_holding(studies: Iterable[StudyResults], document: str) -> list[str]:
    """Return the claims of papers that hold in part, do not hold or are open, as a table.

    Arguments as `headline_lines`.
    """
    found = (
        (each, each.claim.statement)
        for each in _judged_claims(studies)
        if each.claim.group in (SHOWN, THEORY)
        and each.verdict
        and each.verdict.verdict in NOT_HOLDING
    )
    return _claim_lines(found, document)


def _claim_lines(claims: Iterable[tuple[_Judged, str | None]], document: str) -> list[str]:
    """Return the claims that were judged and have words, as the lines of a table."""
    rows = (
        (
            " ".join(filter(None, [words, f"The authors: {claim.answer}" if claim.answer else ""])),
            Markdown(f"**{verdict.verdict}**"),
            how_much(verdict.comparisons),
            *estimate_and_range(verdict.comparisons, "{:.3g}".format),
            str(claim.quantity),
            claim_links(document, study)(claim.id, None),
        )
        for (study, claim, verdict), words in claims
        if verdict and words
    )
    return table(
        ("claim", "verdict", "how much", "found", "needed", "what is measured", "id"), rows
    )


def reproduction_lines(sent_in: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the receipts that others sent in as the lines of a table, one for each."""
    rows = [(study, *map(_as_code, COLUMNS, row)) for study, *row in sent_in]
    return table(("study", *COLUMNS), rows) if rows else [NONE_SENT_IN]


def _as_code(column: str, text: str) -> str:
    """Return a cell of a receipt, as code if a stranger wrote it: nothing in it is markup then."""
    if not text or column in {"date", "level", "verdicts", "runs"}:
        return text
    plain = re.sub("[`|]", " ", text)
    return Markdown(f"`{plain}`")
