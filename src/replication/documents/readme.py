"""The generated parts of the README: the scorecard, and reproductions by others."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from replication.base.errors import InputError
from replication.base.markdown import Markdown, table
from replication.documents.checklist import StudyResults
from replication.documents.claims import claim_links
from replication.judge.verdicts import NOT_HOLDING, OUTCOMES, Verdict
from replication.judge.wording import estimate_and_range, how_much
from replication.study.claims import GROUPS, SHOWN, THEORY, Claim
from replication.verify.reproductions import SUMMARY_COLUMNS, Reproduction, summary_rows

README = Path("README.md")
_SCORECARD_MARKS = ("<!-- scorecard: generated -->", "<!-- end of scorecard -->")
_REPRODUCTIONS_MARKS = ("<!-- reproductions: generated -->", "<!-- end of reproductions -->")


def insert_scorecard(readme: str, studies: list[StudyResults]) -> str:
    """Return the README with a summary of the references between its two marks.

    Args:
        readme: its text.
        studies: those that are summed up; those without a reference are left out.

    Raises:
        InputError: if it lacks a mark.
    """
    verdicts = _judged_claims(studies)
    parts = (_headline_lines(verdicts), _lines_not_holding(verdicts), count_lines(studies))
    lines = [line for part in parts if part for line in (*part, "")]
    return _replace_between(_SCORECARD_MARKS, readme, lines[:-1])


def insert_reproductions(readme: str, sent_in: list[Reproduction]) -> str:
    """Return the README with a table of reproductions by others between its two marks.

    Args:
        readme: its text.
        sent_in: the reproductions that the table lists.

    Raises:
        InputError: if it lacks a mark.
    """
    rows = [
        # As code, as strangers wrote it: nothing in it is markup.
        (study, f"`{computed_on}`", f"`{torch}`" if torch else "", *counts)
        for study, computed_on, torch, *counts in summary_rows(sent_in)
    ]
    lines = table(SUMMARY_COLUMNS, rows) if rows else ["None has been sent in yet."]
    return _replace_between(_REPRODUCTIONS_MARKS, readme, lines)


def _replace_between(marks: tuple[str, str], readme: str, lines: list[str]) -> str:
    """Return the README with other lines between two marks."""
    if any(readme.count(mark) != 1 for mark in marks):
        raise InputError(f"{README}: needs the lines {' and '.join(marks)}, each once")
    begin, end = marks
    before, after = readme.partition(begin)[0], readme.partition(end)[2]
    return "\n".join([before + begin, *lines, end + after])


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


def _headline_lines(verdicts: list[_Judged]) -> list[str]:
    """Return the claims that stand for the others, as the lines of a table."""
    return _claim_lines((each, each.claim.headline) for each in verdicts if each.claim.headline)


def _lines_not_holding(verdicts: list[_Judged]) -> list[str]:
    """Return the claims of the paper that were judged and do not hold, if any, as lines."""
    found = [
        (each, each.claim.statement)
        for each in verdicts
        if each.claim.group in (SHOWN, THEORY)
        and each.verdict
        and each.verdict.verdict in NOT_HOLDING
    ]
    before = "These claims of the paper hold in part, do not hold, or are open:"
    return [before, "", *_claim_lines(found)] if found else []


def _claim_lines(claims: Iterable[tuple[_Judged, str]]) -> list[str]:
    """Return claims that were judged, each with its words, as the lines of a table."""
    rows = (
        (
            " ".join(filter(None, [words, f"The authors: {claim.answer}" if claim.answer else ""])),
            Markdown(f"**{verdict.verdict}**"),
            how_much(verdict.comparisons),
            *estimate_and_range(verdict.comparisons, "{:.3g}".format),
            str(claim.quantity),
            claim_links(str(README), study)(claim.id, None),
        )
        for (study, claim, verdict), words in claims
        if verdict
    )
    return table(
        ("claim", "verdict", "how much", "found", "needed", "what is measured", "id"), rows
    )
