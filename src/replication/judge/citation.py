"""Numbers in words: captions, descriptions and documents cite the tables that figures draw.

Such a text is a Jinja template. Of a figure it knows

    table                            the numbers that the figure draws, as a pandas table
    figure, settings, n_seeds        its settings, the study's section, number of its seeds
    verdict("T1")                    the verdict on a claim, with its comparisons
    called("cr")                     what the study calls a value, itself if it has no name

and every text knows

    rows(table, eta_z=1)             the rows in which columns have these values, at least one
    cell(table, "mean", eta_z=1)     the one value of a column in these rows
    0.123 | number(2)                two significant digits; 0.123 | percent(2) is 12 %
    [2, 3] | numbers(2)              2, 3; and with span(2) the least and the greatest, 2 to 3
    3 | words                        a small number as a word
    0.69 | exp                       the ratio whose logarithm this is, 2
    verdict("T1") | said             a verdict with how much holds: in part, 4 of 6 hold

so that another configuration gets its own numbers. Of what pandas and numpy can do, texts can do
what `sandbox` lists, on copies of the tables that are theirs alone; a column with the name of a
listed method is `table["mean"]`. `numerals` finds numbers that are typed all the same.
"""

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from replication.base.errors import InputError
from replication.base.sandbox import MOST_DIGITS, Sandbox, missing_column_message
from replication.figures import typeset
from replication.judge.verdicts import Verdict
from replication.judge.wording import short_verdict

_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip


def rows(table: pd.DataFrame, **cells: Any) -> pd.DataFrame:
    """Return the rows of a table in which columns have given values.

    Args:
        table: any.
        cells: value, or list of values, by column.

    Raises:
        LookupError: if it lacks a column, or no row is like that.
    """
    for column, wanted in cells.items():
        if column not in table:
            raise LookupError(missing_column_message(table, column))
        found = table[table[column].isin(wanted if isinstance(wanted, list) else [wanted])]
        if found.empty:
            known = ", ".join(map(str, table[column].unique()))
            raise LookupError(f"no row has {column} {wanted}; there is {known}")
        table = found
    return table


def cell(table: pd.DataFrame, column: str, **cells: Any) -> Any:
    """Return the one value that a column has in the rows that `rows` finds.

    Raises:
        LookupError: as `rows`, and if the column has several values there.
    """
    found = rows(table, **cells)
    if column not in found:
        raise LookupError(missing_column_message(table, column))
    values = found[column].unique().tolist()
    if len(values) != 1:
        where = ", ".join(f"{name} {value}" for name, value in cells.items()) or "all rows"
        raise LookupError(f"{column} has {len(values)} values in {where}; say which one")
    return values[0]


def number(value: float, digits: int = 3) -> str:
    """Return a number with significant digits, as many as asked for but at most `MOST_DIGITS`."""
    return typeset.number(value, min(digits, MOST_DIGITS))


def number_word(count: int) -> str:
    """Return a number up to twelve as a word."""
    return _WORDS[count] if 0 <= count < len(_WORDS) else number(count, 9)


def percent(value: float, digits: int = 2) -> str:
    """Return a fraction in percent, with significant digits."""
    return f"{number(100 * value, digits)} %"


def numbers(values: Iterable[float], digits: int = 3) -> str:
    """Return several numbers, separated by commas."""
    return ", ".join(number(value, digits) for value in values)


def span(values: Iterable[float], digits: int = 3) -> str:
    """Return the least and the greatest of some numbers, `2 to 3`, or the number that all are."""
    known = [value for value in values if not math.isnan(value)]
    ends = [number(end, digits) for end in (min(known), max(known))]
    return " to ".join(dict.fromkeys(ends))


def verdict_finder(find: Callable[[str], Verdict | None]) -> Callable[[str], Verdict]:
    """Return the function `verdict` of texts; it raises a LookupError if there is no verdict."""

    def verdict(claim: str) -> Verdict:
        found = find(claim)
        if found is None:
            raise LookupError(f"there is no verdict on claim {claim}")
        return found

    return verdict


def fill_template(text: str, where: str, known: Mapping[str, Any]) -> str:
    """Return a text with the numbers that its template cites.

    Args:
        text: a Jinja template.
        where: names the text in an error message.
        known: values that the text can cite, by name.

    Raises:
        InputError: if the text cites what is not there.
    """
    try:
        # Its own copies: what one text does to a table no other text sees.
        return ENVIRONMENT.shown(text, copy.deepcopy(dict(known)))
    except InputError:
        raise
    except Exception as error:
        # Whatever a template does wrong, pandas and Jinja raise all kinds of errors for it.
        raise InputError(
            f"{where}: cannot be cited: {_first_line(error)}; mend this text where it is written,"
            " in the registry, in an overlay or in the document"
        ) from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    message = next((part for part in error.args if isinstance(part, str) and part.strip()), "")
    return (message.strip() or repr(error)).splitlines()[0]


ENVIRONMENT = Sandbox()
"""Sandbox in which texts are filled, with the functions and filters that they can use."""
ENVIRONMENT.globals |= {"rows": rows, "cell": cell}
ENVIRONMENT.filters |= {
    "exp": math.exp,
    "number": number,
    "numbers": numbers,
    "percent": percent,
    "said": short_verdict,
    "span": span,
    "words": number_word,
}
