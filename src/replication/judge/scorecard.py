"""Bring all verdicts of a paper together: a table to compute with, or one to read."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.errors import WRONG_TABLE, InputError
from replication.base.keys import KEY, Provenance
from replication.base.markdown import escape_markdown, table
from replication.base.storage import read_json, write_stamped, write_table
from replication.judge.abstract import abstract_lines, both_scales
from replication.judge.verdicts import OUTCOMES, Outcome, Verdict
from replication.study.registry import Registry

COLUMNS = (
    "claim", "kind", "where", "figure", "statement", "expected", "published", "verdict", "summary",
    "seeds", "scale", "comparisons", "holding", "note",
)  # fmt: skip


def read_verdict(path: Path) -> Verdict:
    """Return the verdict in a file.

    An `InputError` if it is missing, damaged, not a verdict, changed after it was made, or on
    another claim than the file's name says.
    """
    verdict = Verdict.parse(read_json(path)[0], str(path))
    # Under a variant, its name follows the claim's.
    if path.stem.partition("-")[0] != verdict.claim:
        raise InputError(f"{path} is the verdict on {verdict.claim}; give the same command again")
    return verdict


def scorecard(registry: Registry, verdicts: list[Verdict]) -> pd.DataFrame:
    """Return one row per claim of the registry, in its order, with the columns `COLUMNS`.

    A claim without a verdict is `not tested`, with the reason that the registry gives.
    """
    found = {verdict.claim: verdict for verdict in verdicts}
    rows = []
    for claim in registry.claims:
        reason = claim.not_tested or "not judged"
        verdict = found.get(claim.id) or Verdict.without_evidence(claim.id, reason)
        rows.append({
            **claim.model_dump(),
            **verdict.model_dump(),
            "note": claim.remarks,
            "scale": registry.scale_of(claim, verdict.seeds),
            "comparisons": len(verdict.counted),
            "holding": verdict.holding,
        })  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS)).fillna("")


def refuse_wrong_tables(registry: Registry, verdicts: Iterable[Verdict]) -> None:
    """Refuse verdicts on claims whose function returned a wrong table of evidence.

    The `InputError` has a line per claim, with its function and the table that is expected.
    """
    functions = {claim.id: claim.evidence for claim in registry.claims}
    wrong = [
        f"claim {found.claim}, {functions[found.claim]}: {found.summary}"
        for found in verdicts
        if found.summary.endswith(WRONG_TABLE)
    ]
    if wrong:
        raise InputError("\n".join(wrong))


def counts(card: pd.DataFrame) -> dict[Outcome, int]:
    """Return the number of claims of every verdict, in the order of `OUTCOMES`."""
    verdicts = [*card["verdict"]]
    return {outcome: verdicts.count(outcome) for outcome in OUTCOMES}


def to_markdown(registry: Registry, verdicts: list[Verdict]) -> str:
    """Return the scorecard as Markdown: abstract, number of claims by verdict, a line per claim.

    A user's own claims have a table of their own, and are not counted.
    """
    card = scorecard(registry, verdicts)
    totals = counts(card[card["kind"] != "own"])
    lines = [
        f"# Verdicts on {escape_markdown(registry.title)}",
        "",
        *abstract_lines(registry, {verdict.claim: verdict for verdict in verdicts}),
        *table(
            ("verdict", "claims", "meaning"),
            [(f"**{name}**", str(n), OUTCOMES[name]) for name, n in totals.items() if n],
        ),
        "",
    ]
    other = card["claim"].map(registry.at_paper_scale.get).fillna("")
    card["verdict"] = [*map(both_scales, card["verdict"], other)]
    header = ("id", "paper", "claim", "verdict", "result", "scale", "note")
    columns = ["claim", "where", "statement", "verdict", "summary", "scale", "note"]
    for is_own, rows in card.groupby(card["kind"] == "own"):
        lines += ["## A user's own claims, not counted above", ""] if is_own else []
        lines += [*table(header, rows[columns].to_numpy()), ""]
    return "\n".join(lines)


def write_scorecard(
    registry: Any, verdicts: Iterable[Path], made_by: Provenance, markdown: Path, parquet: Path
) -> None:
    """Write the table and the text of a registry, which is plain data, as the plan has it.

    An `InputError` if a verdict cannot be read, or a claim's function returned a wrong table.
    """
    known = Registry.parse_json(json.dumps(registry), "registry")
    found = [read_verdict(path) for path in verdicts]
    refuse_wrong_tables(known, found)
    write_table(parquet, scorecard(known, found), made_by)
    write_stamped(markdown, to_markdown(known, found).encode(), made_by[KEY])
