"""Say which verdicts and which drawn numbers differ between the references of two checkouts.

A tolerance would hide a change that somebody made, so every bit counts here.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from replication.base.markdown import table
from replication.base.storage import write_text
from replication.base.tables import write_csv
from replication.bundle.bundle import Bundle, find_references, read_bundle, reference_folder
from replication.judge.verdicts import Verdict
from replication.verify.differences import SAME_PROCESSOR, Difference, table_differences

CHECKOUT = click.Path(exists=True, file_okay=False, path_type=Path)
"""Type of an option that names a checkout."""
FIGURE_FOLDER = "figures/"
FIGURE_COLUMNS = ["study", "place"]
"""Columns that identify a figure."""
CHANGE_COLUMNS = ("quantity", "reference", "found", "difference", "relative")
COLUMN_TITLES = {"place": "figure", "reference": "before", "found": "after"}
"""Headings of columns in the text for people, by column."""
MOST_LISTED = 50
"""Largest number of changed numbers that the text lists; the table has all of them."""


def read_references(root: Path) -> dict[str, Bundle]:
    """Return the references of all studies of a checkout, by name.

    Raises:
        InputError: if one is damaged.
    """
    return {name: read_bundle(reference_folder(root, name))[0] for name in find_references(root)}


def changed_verdicts(before: dict[str, Bundle], after: dict[str, Bundle]) -> pd.DataFrame:
    """Return every claim whose verdict, sentence or measured numbers changed.

    Returns:
        Columns study, claim, before, after (words), change (the largest one of an estimate of a
        comparison that both have; none if there is no such one), result_before, result_after
        (sentences).
    """
    return _changes_by_study(before, after, _verdict_changes)


def changed_numbers(before: dict[str, Bundle], after: dict[str, Bundle]) -> pd.DataFrame:
    """Return every number that a figure draws and that changed.

    Returns:
        The columns study and those of `differences` (`reference` is before, `found` is after), and
        `relative`, the difference in units of the larger of both; none where something else than a
        number changed.
    """
    listed = _changes_by_study(before, after, _number_changes)
    both = listed[["reference", "found"]].apply(pd.to_numeric, errors="coerce")
    sizes = both.abs().max(axis=1)
    gap = listed["difference"].astype(float)
    return listed.assign(difference=gap, relative=gap / sizes.where(sizes > 0))


def to_markdown(verdicts: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """Return all changes as Markdown: verdicts, the largest change of each figure, then details."""
    words = verdicts[verdicts["before"] != verdicts["after"]]
    figures = len(numbers[FIGURE_COLUMNS].drop_duplicates())
    return "\n".join(
        [
            "## What changes in the reference",
            "",
            f"{len(words)} verdicts changed, {len(verdicts) - len(words)} more have other numbers;"
            f" {len(numbers)} drawn numbers changed in {figures} figures.",
            "",
            *_section_lines("Verdicts", verdicts, _verdict_lines(verdicts)),
            *_section_lines("Drawn numbers", numbers, _figure_lines(numbers)),
            *_section_lines("Details", numbers, _detail_lines(numbers)),
        ]
    )


@click.command(help=__doc__)
@click.option("--before", required=True, type=CHECKOUT, help="Old checkout.")
@click.option("--after", required=True, type=CHECKOUT, help="New checkout.")
@click.option("--markdown", required=True, type=click.Path(path_type=Path))
@click.option(
    "--numbers", required=True, type=click.Path(path_type=Path), help="CSV of all changes."
)
def main(before: Path, after: Path, markdown: Path, numbers: Path) -> None:
    """Write both files; a change is no error."""
    old, new = read_references(before), read_references(after)
    drawn = changed_numbers(old, new)
    write_csv(numbers, drawn)
    write_text(markdown, to_markdown(changed_verdicts(old, new), drawn))


def _changes_by_study(
    before: dict[str, Bundle],
    after: dict[str, Bundle],
    changes: Callable[[Bundle, Bundle], pd.DataFrame],
) -> pd.DataFrame:
    """Return the changes of all studies as one table, with a column `study`."""
    nothing = Bundle(tables={}, verdicts={}, depends={})
    tables = {"": changes(nothing, nothing)}
    for study in before | after:
        tables[study] = changes(before.get(study, nothing), after.get(study, nothing))
    together = pd.concat(tables, names=["study", None])
    return together.reset_index("study").reset_index(drop=True)


def _verdict_changes(before: Bundle, after: Bundle) -> pd.DataFrame:
    rows = []
    for claim in before.verdicts | after.verdicts:
        old, new = before.verdicts.get(claim), after.verdicts.get(claim)
        if old != new:
            words = [each.verdict if each else "none" for each in (old, new)]
            sentences = [each.summary if each else "" for each in (old, new)]
            rows.append((claim, *words, _largest_change(old, new), *sentences))
    columns = ["claim", "before", "after", "change", "result_before", "result_after"]
    return pd.DataFrame(rows, columns=columns)


def _largest_change(before: Verdict | None, after: Verdict | None) -> float:
    old = {item.cell: item.estimate for item in before.comparisons} if before else {}
    new = {item.cell: item.estimate for item in after.comparisons} if after else {}
    changes = [abs(new[cell] - value) for cell, value in old.items() if cell in new]
    return max(changes, default=np.nan)


def _number_changes(before: Bundle, after: Bundle) -> pd.DataFrame:
    names = (name for name in before.tables | after.tables if name.startswith(FIGURE_FOLDER))
    rows = [
        difference
        for name in sorted(names)
        for difference in _table_changes(name, before.tables.get(name), after.tables.get(name))
    ]
    return pd.DataFrame(rows, columns=list(Difference._fields))


def _table_changes(
    name: str, old: pd.DataFrame | None, new: pd.DataFrame | None
) -> Iterable[Difference]:
    place = name.removeprefix(FIGURE_FOLDER).removesuffix(".csv")
    if old is None or new is None:
        was, found = ("none" if table is None else "there" for table in (old, new))
        return [Difference(place, "table", was, found)]
    return table_differences(place, new, old, SAME_PROCESSOR)


def _section_lines(title: str, rows: pd.DataFrame, lines: list[str]) -> list[str]:
    return [] if rows.empty else [f"### {title}", "", *lines, ""]


def _verdict_lines(verdicts: pd.DataFrame) -> list[str]:
    after = verdicts["after"]
    shown = verdicts.assign(after=after.mask(after != verdicts["before"], "**" + after + "**"))
    columns = ("study", "claim", "before", "after", "change", "result_before", "result_after")
    return _table_lines(
        shown, columns, change="largest change", result_before="was", result_after="is"
    )


def _figure_lines(numbers: pd.DataFrame) -> list[str]:
    """Return the largest change of each figure; a changed form of the table comes first."""
    ordered = numbers.sort_values("difference", ascending=False, na_position="first", kind="stable")
    ordered["changed"] = ordered.groupby(FIGURE_COLUMNS)["place"].transform("size")
    first = ordered.drop_duplicates(FIGURE_COLUMNS).sort_values(FIGURE_COLUMNS)
    return _table_lines(
        first,
        (*FIGURE_COLUMNS, "changed", *CHANGE_COLUMNS),
        quantity="largest change",
        **COLUMN_TITLES,
    )


def _detail_lines(numbers: pd.DataFrame) -> list[str]:
    shown = _table_lines(
        numbers.head(MOST_LISTED),
        (*FIGURE_COLUMNS, *CHANGE_COLUMNS),
        quantity="number",
        **COLUMN_TITLES,
    )
    left = len(numbers) - MOST_LISTED
    more = ["", f"{left} more stand in the table beside this text."] if left > 0 else []
    return ["<details>", "", *shown, *more, "", "</details>"]


def _table_lines(rows: pd.DataFrame, columns: tuple[str, ...], **names: str) -> list[str]:
    """Return the lines of a table of some columns, some under other headings."""
    heads = [names.get(name, name) for name in columns]
    return table(heads, rows[list(columns)].map(_cell_text).to_numpy().tolist())


def _cell_text(value: Any) -> str:
    """Return a number with three digits, and an empty text for a missing one."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.3g}"
    return str(value)
