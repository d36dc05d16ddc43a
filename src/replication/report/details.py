"""Details of a figure: its settings as an overlay, and the paper's numbers beside ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml
from markupsafe import Markup

from replication.base.tables import read_csv
from replication.documents.figure_texts import figure_settings
from replication.plan.study_jobs import StudyJobs
from replication.study.published_tables import check_published_table


class PaperComparison(NamedTuple):
    """The paper's numbers and ours, row by row."""

    keys: list[str]
    """Columns that name a row."""
    values: list[str]
    """Columns that are compared."""
    rows: list[tuple[list[Any], list[tuple[float, float, float]]]]
    """Keys of each row, and for each value ours, the paper's and their difference."""
    largest: dict[str, float]
    """The largest difference of each value, without its sign."""

    @property
    def header(self) -> list[str]:
        """Names of the columns of a table that shows the rows."""
        papers = Markup("the paper's")
        compared = [(f"{name}, ours", papers, "difference") for name in self.values]
        return [*self.keys, *(name for three in compared for name in three)]


def overlay(study: str, settings: Mapping[str, Any], figure: str, names: Iterable[str]) -> str:
    """Return the part of a study's settings that a figure rests on, as an overlay; empty for none.

    Of a mapping by names, such as experiments, the overlay has the items that the figure shows, by
    their `names`, and the items that these name in turn. Every other setting is there as a whole.
    Names in such a setting count only if the figure names the setting, as a table of sensitivity
    names the experiments that vary.
    """
    own = figure_settings(settings, figure)
    if not own:
        return ""
    known = {*names, *_texts(own)}
    while True:
        part = {
            key: {name: item for name, item in value.items() if name in known}
            if _maps_names(value)
            else value
            for key, value in settings.items()
            if key != "figures"
        }
        followed = [
            value for key, value in part.items() if key in known or _maps_names(settings[key])
        ]
        found = known | {*_texts(followed)}
        if found == known:
            break
        known = found
    filled = {key: value for key, value in part.items() if value not in ({}, [], None)}
    whole = {study: {**filled, "figures": {figure: own}}}
    return str(yaml.dump(whole, sort_keys=False, default_flow_style=None, width=100))


def published_path(study: StudyJobs, figure: str) -> Path | None:
    """Return the path of the numbers as printed that a figure shows; none if it shows none."""
    published = study.figures[figure].published
    if not published or f"figure {figure}" in study.unlike_published:
        return None
    return study.study.folder / "published" / published


def compare_with_paper(
    ours: pd.DataFrame, published: Path, columns: Sequence[str]
) -> PaperComparison | None:
    """Return the paper's numbers and ours; none if the tables share no rows, or not these columns.

    The columns are first the keys, as few as tell all rows of the paper's table apart, then the
    values that are compared.

    Raises:
        InputError: if the paper's table cannot be read.
    """
    check_published_table(published, tuple(columns))
    paper = read_csv(published, columns)[list(columns)]
    if not {*columns} <= {*ours.columns}:
        return None
    count = next(
        (end for end in range(1, len(columns)) if not paper.duplicated(list(columns[:end])).any()),
        0,
    )
    keys, values = list(columns[:count]), list(columns[count:])
    if not count:
        return None
    both = ours.merge(paper, on=keys, suffixes=("", " of the paper"))
    both = both.dropna(subset=[*values, *(f"{name} of the paper" for name in values)])
    if both.empty:
        return None
    rows = [
        (
            [row[key] for key in keys],
            [(row[name], row[f"{name} of the paper"], _difference(row, name)) for name in values],
        )
        for row in both.to_dict("records")
    ]
    largest = {
        name: max(abs(found[index][2]) for _, found in rows) for index, name in enumerate(values)
    }
    return PaperComparison(keys, values, rows, largest)


def _difference(row: Mapping[Any, Any], name: str) -> float:
    return float(row[name] - row[f"{name} of the paper"])


def _maps_names(value: Any) -> bool:
    """Say whether a value is a mapping from names to mappings."""
    if not isinstance(value, dict):
        return False
    return bool(value) and all(isinstance(each, dict) for each in value.values())


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)
