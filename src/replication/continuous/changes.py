"""Say which verdicts and which drawn numbers differ between the references of two checkouts.

A tolerance would hide a change that somebody made, so every bit counts here.
"""

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from replication.frames import write_csv
from replication.markdown import table
from replication.storage import write_text
from replication.verification.differences import SAME_PROCESSOR, Difference, differences
from replication.verification.judgement import Verdict
from replication.verification.reference import (
    Reference,
    find_references,
    read_reference,
    reference_folder,
)

FIGURES = "figures/"
FIGURE = ["study", "place"]
"""What names a figure."""
SHOWN = 50
"""Changed numbers that the text lists; all of them stand in the table."""


def read_references(root: Path) -> dict[str, Reference]:
    """The references of all studies of a checkout, by name.

    Raises:
        InputError: if one is damaged.
    """
    return {name: read_reference(reference_folder(root, name))[0] for name in find_references(root)}


def changed_verdicts(before: dict[str, Reference], after: dict[str, Reference]) -> pd.DataFrame:
    """Every claim whose verdict, sentence or measured numbers changed.

    Returns:
        Columns study, claim, before, after (words), change (the largest one of an estimate of a
        cell that both have; none if there is no such cell), result_before, result_after
        (sentences).
    """
    return _by_study(before, after, _verdicts)


def changed_numbers(before: dict[str, Reference], after: dict[str, Reference]) -> pd.DataFrame:
    """Every number that a figure draws and that changed.

    Returns:
        The columns study and those of `differences` (`reference` is before, `found` is after), and
        `relative`, the difference in units of the larger of both; none where something else than a
        number changed.
    """
    listed = _by_study(before, after, _numbers)
    both = listed[["reference", "found"]].apply(pd.to_numeric, errors="coerce")
    sizes = both.abs().max(axis=1)
    gap = listed["difference"].astype(float)
    return listed.assign(difference=gap, relative=gap / sizes.where(sizes > 0))


def to_markdown(verdicts: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """Both changes for people: words first, then each figure's largest change, then details."""
    words = verdicts[verdicts["before"] != verdicts["after"]]
    return "\n".join(
        [
            "## What changes in the reference",
            "",
            f"{len(words)} verdicts changed, {len(verdicts) - len(words)} more have other numbers;"
            f" {len(numbers)} drawn numbers changed in {len(numbers[FIGURE].drop_duplicates())}"
            " figures.",
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
    old, new = read_references(before), read_references(after)
    drawn = changed_numbers(old, new)
    write_csv(numbers, drawn)
    write_text(markdown, to_markdown(changed_verdicts(old, new), drawn))


def _by_study(
    before: dict[str, Reference],
    after: dict[str, Reference],
    changes: Callable[[Reference, Reference], pd.DataFrame],
) -> pd.DataFrame:
    """Changes of all studies as one table; names of figures and claims are those of a study."""
    nothing = Reference(tables={}, verdicts={}, depends={})
    tables = {"": changes(nothing, nothing)}
    for study in before | after:
        tables[study] = changes(before.get(study, nothing), after.get(study, nothing))
    together = pd.concat(tables, names=["study", None])
    return together.reset_index("study").reset_index(drop=True)


def _verdicts(before: Reference, after: Reference) -> pd.DataFrame:
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


def _largest_change(before: Verdict | None, after: Verdict | None) -> float:
    old = {item.cell: item.estimate for item in before.comparisons} if before else {}
    new = {item.cell: item.estimate for item in after.comparisons} if after else {}
    changes = [abs(new[cell] - value) for cell, value in old.items() if cell in new]
    return max(changes, default=np.nan)


def _numbers(before: Reference, after: Reference) -> pd.DataFrame:
    names = (name for name in before.tables | after.tables if name.startswith(FIGURES))
    rows = [
        difference
        for name in sorted(names)
        for difference in _table(name, before.tables.get(name), after.tables.get(name))
    ]
    return pd.DataFrame(rows, columns=list(Difference._fields))


def _table(name: str, old: pd.DataFrame | None, new: pd.DataFrame | None) -> Iterable[Difference]:
    place = name.removeprefix(FIGURES).removesuffix(".csv")
    if old is None or new is None:
        was, found = ("none" if table is None else "there" for table in (old, new))
        return [Difference(place, "table", was, found)]
    return differences(place, new, old, SAME_PROCESSOR)


def _section(title: str, rows: pd.DataFrame, lines: list[str]) -> list[str]:
    return [] if rows.empty else [f"### {title}", "", *lines, ""]


def _verdict_lines(verdicts: pd.DataFrame) -> list[str]:
    rows = [
        (
            row["study"],
            row["claim"],
            row["before"],
            f"**{row['after']}**" if row["after"] != row["before"] else row["after"],
            _number(row["change"]),
            row["result_before"],
            row["result_after"],
        )
        for row in verdicts.to_dict("records")
    ]
    return table(("study", "claim", "before", "after", "largest change", "was", "is"), rows)


def _figure_lines(numbers: pd.DataFrame) -> list[str]:
    """The largest change of each figure; one of its form comes before all numbers."""
    ordered = numbers.sort_values("difference", ascending=False, na_position="first", kind="stable")
    counts = numbers.value_counts(FIGURE)
    rows = [
        (row["study"], row["place"], str(counts[row["study"], row["place"]]), *_change(row))
        for row in ordered.drop_duplicates(FIGURE).sort_values(FIGURE).to_dict("records")
    ]
    sizes = ("largest change", "before", "after", "difference", "relative")
    return table(("study", "figure", "changed", *sizes), rows)


def _detail_lines(numbers: pd.DataFrame) -> list[str]:
    rows = [
        (row["study"], row["place"], *_change(row))
        for row in numbers.head(SHOWN).to_dict("records")
    ]
    head = ("study", "figure", "number", "before", "after", "difference", "relative")
    left = len(numbers) - len(rows)
    more = ["", f"{left} more stand in the table beside this text."] if left else []
    return ["<details>", "", *table(head, rows), *more, "", "</details>"]


def _change(row: dict[Hashable, Any]) -> tuple[str, ...]:
    sizes = (_number(row[name]) for name in ("difference", "relative"))
    return (str(row["quantity"]), str(row["reference"]), str(row["found"]), *sizes)


def _number(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
