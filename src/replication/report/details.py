"""Details of a figure: its settings as an overlay, and the paper's numbers beside ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from markupsafe import Markup

from replication.base.tables import read_csv
from replication.documents.figure_texts import figure_settings
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
    """Return the part of a study's settings that a figure rests on, as an overlay.

    Of a mapping by names, such as experiments, the overlay has the items that the figure names, and
    the items that these name in turn. Every other setting is there as a whole. Names in such a
    setting count only if the figure names the setting, as a table of sensitivity names the
    experiments that vary.

    A figure without settings has no overlay: an empty text.

    Args:
        study: name of the study.
        settings: the study's section of the configuration.
        figure: the figure's name.
        names: names of the experiments that the figure shows.
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


def compare_with_paper(
    table: Path, published: Path, columns: Sequence[str]
) -> PaperComparison | None:
    """Return the paper's numbers and ours; none if the tables share no rows, or not these columns.

    Args:
        table: path of our table.
        published: path of the paper's table.
        columns: columns of the paper's table: first the keys, as few as tell all rows apart, then
            the values that are compared.

    Raises:
        InputError: if a table cannot be read.
    """
    check_published_table(published, tuple(columns))
    paper = read_csv(published, columns)[list(columns)]
    ours = read_csv(table, ())
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
    return isinstance(value, dict) and bool(value) and all(map(_is_mapping, value.values()))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


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
