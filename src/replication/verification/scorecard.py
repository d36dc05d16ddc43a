"""Bring all verdicts of a paper together: a table to compute with, or one to read."""

import json
from pathlib import Path

import click
import pandas as pd

from replication.frames import write_table
from replication.markdown import table
from replication.provenance import provenance
from replication.registry import Registry, read_registry
from replication.storage import unreadable, write_text
from replication.verification.judgement import OUTCOMES, Outcome, Verdict

COLUMNS = (
    "claim", "where", "figure", "statement", "expected", "published", "verdict", "summary", "seeds",
    "comparisons", "holding", "note",
)  # fmt: skip


def read_verdict(path: Path) -> Verdict:
    """Read what `judge` wrote.

    Raises:
        InputError: if it is missing, damaged or not a verdict.
    """
    try:
        record = json.loads(path.read_text())
        record.pop("provenance")
    except (OSError, ValueError, AttributeError, KeyError) as error:
        raise unreadable(path, error) from error
    return Verdict.parse(record, str(path))


def scorecard(registry: Registry, verdicts: list[Verdict]) -> pd.DataFrame:
    """One row per claim of the registry, in its order, with the columns `COLUMNS`.

    A claim without a verdict is `not tested`, with the reason that the registry gives.
    """
    found = {verdict.claim: verdict for verdict in verdicts}
    rows = []
    for claim in registry.claims:
        verdict = found.get(claim.id)
        rows.append(
            {
                "claim": claim.id,
                "where": claim.where,
                "figure": claim.figure or "",
                "statement": claim.statement,
                "expected": claim.expected or "",
                "published": claim.published or "",
                "verdict": verdict.verdict if verdict else "not tested",
                "summary": verdict.summary if verdict else claim.not_tested or "not judged",
                "seeds": verdict.seeds if verdict else 0,
                "comparisons": len(verdict.comparisons) if verdict else 0,
                "holding": sum(item.decision == "holds" for item in verdict.comparisons)
                if verdict
                else 0,
                "note": claim.note or "",
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def counts(card: pd.DataFrame) -> dict[Outcome, int]:
    """Number of claims of every verdict, in the order of `OUTCOMES`."""
    found = card["verdict"].value_counts()
    return {outcome: int(found.get(outcome, 0)) for outcome in OUTCOMES}


def totals(card: pd.DataFrame) -> list[str]:
    """How many claims have each verdict, as the lines of a Markdown table."""
    rows = ((f"**{name}**", str(n), OUTCOMES[name]) for name, n in counts(card).items() if n)
    return table(("verdict", "claims", "meaning"), rows)


def lines(card: pd.DataFrame, columns: dict[str, str]) -> list[str]:
    """One line per claim, as the lines of a Markdown table.

    Args:
        card: what `scorecard` returned.
        columns: what to call each column.
    """
    return table(tuple(columns.values()), card[list(columns)].astype(str).to_numpy().tolist())


def to_markdown(registry: Registry, card: pd.DataFrame) -> str:
    """The scorecard as Markdown."""
    columns = {
        "claim": "id",
        "where": "paper",
        "statement": "claim",
        "verdict": "verdict",
        "summary": "result",
        "note": "note",
    }
    head = f"# Verdicts on {registry.title}"
    return "\n".join([head, "", *totals(card), "", *lines(card, columns), ""])


@click.command(help=__doc__)
@click.option("--registry", "registry_path", required=True, type=click.Path(path_type=Path))
@click.option("--parquet", required=True, type=click.Path(path_type=Path))
@click.option("--markdown", required=True, type=click.Path(path_type=Path))
@click.argument("verdicts", nargs=-1, type=click.Path(path_type=Path))
def main(registry_path: Path, parquet: Path, markdown: Path, verdicts: tuple[Path, ...]) -> None:
    """Write the table and the text."""
    registry = read_registry(registry_path)
    card = scorecard(registry, [read_verdict(path) for path in verdicts])
    made_by = provenance(__spec__.name, registry.model_dump(mode="json"), [], [])
    write_table(parquet, card, made_by)
    write_text(markdown, to_markdown(registry, card))


if __name__ == "__main__":
    main()
