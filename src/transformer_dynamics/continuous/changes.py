"""Say which verdicts and which drawn numbers differ between the locks of two checkouts.

A tolerance would hide a change that somebody made, so every bit counts here.
"""

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from transformer_dynamics.frames import write_csv
from transformer_dynamics.markdown import table
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.storage import write_text
from transformer_dynamics.verification.differences import COLUMNS, SAME_PROCESSOR, differences
from transformer_dynamics.verification.judgement import Verdict
from transformer_dynamics.verification.lock import MANIFEST, Lock, read_lock

FIGURES = "figures/"
SHOWN = 50
"""Changed numbers that the text lists; all of them stand in the table."""


def read_locks(root: Path) -> Lock:
    """The verdicts and drawn numbers of all parts of a checkout, as far as they are locked.

    Raises:
        InputError: if a lock is damaged.
    """
    folders = [root / part.lock for part in PARTS.values()]
    locks = [read_lock(folder)[0] for folder in folders if (folder / MANIFEST).exists()]
    return Lock(
        tables={
            name: numbers
            for lock in locks
            for name, numbers in lock.tables.items()
            if name.startswith(FIGURES)
        },
        verdicts={claim: verdict for lock in locks for claim, verdict in lock.verdicts.items()},
        depends={},
    )


def changed_verdicts(before: Lock, after: Lock) -> pd.DataFrame:
    """Every claim whose verdict, sentence or measured numbers changed.

    Returns:
        Columns claim, before, after (words), change (the largest one of an estimate of a cell that
        both have; none if there is no such cell), result_before, result_after (sentences).
    """
    claims = list(before.verdicts | after.verdicts)
    pairs = [(claim, before.verdicts.get(claim), after.verdicts.get(claim)) for claim in claims]
    rows = [
        {
            "claim": claim,
            "before": old.verdict if old else "none",
            "after": new.verdict if new else "none",
            "change": _largest_change(old, new),
            "result_before": old.summary if old else "",
            "result_after": new.summary if new else "",
        }
        for claim, old, new in pairs
        if old != new
    ]
    columns = ["claim", "before", "after", "change", "result_before", "result_after"]
    return pd.DataFrame(rows, columns=columns)


def changed_numbers(before: Lock, after: Lock) -> pd.DataFrame:
    """Every number that a figure draws and that changed.

    Returns:
        The columns of `differences` (`locked` is before, `found` is after), and `relative`, the
        difference in units of the larger of both; none where something else than a number changed.
    """
    listed = pd.concat([_none(), *_numbers(before, after)], ignore_index=True)
    sizes = listed[["locked", "found"]].apply(pd.to_numeric, errors="coerce").abs().max(axis=1)
    gap = listed["difference"].astype(float)
    return listed.assign(difference=gap, relative=gap / sizes.where(sizes > 0))


def to_markdown(verdicts: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """Both changes for people: words first, then each figure's largest change, then details."""
    words = verdicts[verdicts["before"] != verdicts["after"]]
    return "\n".join(
        [
            "## What the lock of results changes",
            "",
            f"{len(words)} verdicts changed, {len(verdicts) - len(words)} more have other numbers;"
            f" {len(numbers)} drawn numbers changed in {numbers['place'].nunique()} figures.",
            "",
            *_section("Verdicts", verdicts, _verdict_lines(verdicts)),
            *_section("Drawn numbers", numbers, _figure_lines(numbers)),
            *_section("Details", numbers, _detail_lines(numbers)),
        ]
    )


@click.command(help=__doc__)
@click.option("--before", required=True, type=click.Path(path_type=Path), help="A checkout.")
@click.option("--after", required=True, type=click.Path(path_type=Path), help="A checkout.")
@click.option("--markdown", required=True, type=click.Path(path_type=Path))
@click.option("--numbers", required=True, type=click.Path(path_type=Path), help="All of them, CSV.")
def main(before: Path, after: Path, markdown: Path, numbers: Path) -> None:
    """Write both files; a change is no error."""
    old, new = read_locks(before), read_locks(after)
    drawn = changed_numbers(old, new)
    write_csv(numbers, drawn)
    write_text(markdown, to_markdown(changed_verdicts(old, new), drawn))


def _largest_change(before: Verdict | None, after: Verdict | None) -> float:
    old = {item.cell: item.estimate for item in before.comparisons} if before else {}
    new = {item.cell: item.estimate for item in after.comparisons} if after else {}
    changes = [abs(new[cell] - value) for cell, value in old.items() if cell in new]
    return max(changes, default=np.nan)


def _numbers(before: Lock, after: Lock) -> Iterator[pd.DataFrame]:
    for name in sorted(before.tables.keys() | after.tables.keys()):
        place = name.removeprefix(FIGURES).removesuffix(".csv")
        old, new = before.tables.get(name), after.tables.get(name)
        if old is None or new is None:
            was, found = ("none" if table is None else "there" for table in (old, new))
            row = (place, "table", was, found, np.nan, "exact")
            yield pd.DataFrame([row], columns=list(COLUMNS))
        else:
            yield differences(place, new, old, SAME_PROCESSOR)


def _none() -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))


def _section(title: str, rows: pd.DataFrame, lines: list[str]) -> list[str]:
    return [] if rows.empty else [f"### {title}", "", *lines, ""]


def _verdict_lines(verdicts: pd.DataFrame) -> list[str]:
    rows = [
        (
            row["claim"],
            row["before"],
            f"**{row['after']}**" if row["after"] != row["before"] else row["after"],
            _number(row["change"]),
            row["result_before"],
            row["result_after"],
        )
        for row in verdicts.to_dict("records")
    ]
    return table(("claim", "before", "after", "largest change", "was", "is"), rows)


def _figure_lines(numbers: pd.DataFrame) -> list[str]:
    """The largest change of each figure; one of its form comes before all numbers."""
    ordered = numbers.sort_values("difference", ascending=False, na_position="first", kind="stable")
    counts = numbers["place"].value_counts()
    rows = [
        (row["place"], str(counts[row["place"]]), *_change(row))
        for row in ordered.drop_duplicates("place").sort_values("place").to_dict("records")
    ]
    head = ("figure", "changed", "largest change", "before", "after", "difference", "relative")
    return table(head, rows)


def _detail_lines(numbers: pd.DataFrame) -> list[str]:
    rows = [(row["place"], *_change(row)) for row in numbers.head(SHOWN).to_dict("records")]
    head = ("figure", "number", "before", "after", "difference", "relative")
    left = len(numbers) - len(rows)
    more = ["", f"{left} more stand in the table beside this text."] if left else []
    return ["<details>", "", *table(head, rows), *more, "", "</details>"]


def _change(row: dict[Hashable, Any]) -> tuple[str, ...]:
    sizes = (_number(row[name]) for name in ("difference", "relative"))
    return (str(row["quantity"]), str(row["locked"]), str(row["found"]), *sizes)


def _number(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
