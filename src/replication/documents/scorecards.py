"""Tables of documents: claims that stand for others or do not hold, counts, reproductions."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from replication.base.markdown import Markdown, table
from replication.documents.study_results import StudyResults, claim_links
from replication.judge.verdicts import NOT_HOLDING, OUTCOMES, Verdict, estimate_and_range, how_much
from replication.study.claims import GROUPS, SHOWN, THEORY, Claim
from replication.verify.receipts import COLUMNS

NONE_SENT_IN = "None has been sent in yet."
HEADER = ("claim", "verdict", "how much", "found", "needed", "what is measured", "id")
"""Columns of the tables of claims."""


def _claims(studies: Iterable[StudyResults]) -> Iterator[tuple[str, Claim, Verdict | None]]:
    """Yield all claims of studies that have a reference, each with its study and verdict."""
    for told in studies:
        if told.reference:
            for claim in told.jobs.registry.claims:
                yield told.name, claim, told.verdicts.get(claim.id)


def count_lines(studies: Iterable[StudyResults]) -> list[str]:
    """Return the number of claims by group and verdict, as the lines of a table."""
    found = Counter(
        (claim.group, verdict.verdict if verdict else "not tested")
        for _, claim, verdict in _claims(studies)
    )
    counts = ((group, [found[group, outcome] for outcome in OUTCOMES]) for group in GROUPS)
    rows = ((group, *(str(number or "") for number in row)) for group, row in counts if any(row))
    return table(("", *OUTCOMES), rows)


def claim_lines(
    studies: Iterable[StudyResults], document: str, *, are_headlines: bool
) -> list[str]:
    """Return the lines of a table of claims that stand for the others, or else do not hold.

    The latter are claims of papers that hold in part, do not hold or are open. `document` is the
    path of the file that has the table, relative to the project's folder.
    """
    rows = []
    for study, claim, verdict in _claims(studies):
        is_failing = claim.group in (SHOWN, THEORY) and verdict and verdict.verdict in NOT_HOLDING
        words = claim.headline if are_headlines else is_failing and claim.statement
        if verdict and words:
            rows.append(
                (
                    f"{words} The authors: {claim.answer}" if claim.answer else words,
                    Markdown(f"**{verdict.verdict}**"),
                    how_much(verdict.comparisons),
                    *estimate_and_range(verdict.comparisons, "{:.3g}".format),
                    str(claim.quantity),
                    claim_links(document, study)(claim.id, None),
                )
            )
    return table(HEADER, rows)


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
