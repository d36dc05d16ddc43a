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

so that another configuration gets its own numbers. Texts run in Jinja's sandbox, and a name that is
not there is an error. A column with the name of a method of pandas is `table["mean"]`.
`documents.typed_numbers` finds numbers that are typed all the same.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import StrictUndefined, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.figures import typeset
from replication.judge.verdicts import Verdict
from replication.judge.wording import short_verdict

_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip


def rows(table: pd.DataFrame, **cells: Any) -> pd.DataFrame:
    """Return the rows of a table in which columns have given values, or one of a list of values.

    Raises:
        LookupError: if the table lacks a column, or no row is like that.
    """
    for column, wanted in cells.items():
        values = _column(table, column)
        found = table[values.isin(wanted if isinstance(wanted, list) else [wanted])]
        if found.empty:
            known = ", ".join(map(str, values.unique()))
            raise LookupError(f"no row has {column} {wanted}; there is {known}")
        table = found
    return table


def cell(table: pd.DataFrame, column: str, **cells: Any) -> Any:
    """Return the one value that a column has in the rows that `rows` finds.

    Raises:
        LookupError: as `rows`, and if the column has several values there.
    """
    values = _column(rows(table, **cells), column).unique().tolist()
    if len(values) != 1:
        where = ", ".join(f"{name} {value}" for name, value in cells.items()) or "all rows"
        raise LookupError(f"{column} has {len(values)} values in {where}; say which one")
    return values[0]


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    if name not in table:
        raise LookupError(unknown_key(name, [*map(str, table)], "column"))
    return table[name]


def number_word(count: int) -> str:
    """Return a number up to twelve as a word."""
    return _WORDS[count] if 0 <= count < len(_WORDS) else typeset.number(count, 9)


def percent(value: float, digits: int = 2) -> str:
    """Return a fraction in percent, with significant digits."""
    return f"{typeset.number(100 * value, digits)} %"


def numbers(values: Iterable[float], digits: int = 3) -> str:
    """Return several numbers, separated by commas."""
    return ", ".join(typeset.number(value, digits) for value in values)


def span(values: Iterable[float], digits: int = 3) -> str:
    """Return the least and the greatest of some numbers, `2 to 3`, or the number that all are."""
    known = [value for value in values if not math.isnan(value)]
    ends = [typeset.number(end, digits) for end in (min(known), max(known))]
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
        return ENVIRONMENT.from_string(text).render(known)
    except InputError:
        raise
    except Exception as error:
        # Whatever a template does wrong, pandas and Jinja raise all kinds of errors for it.
        said = (str(error).strip() or repr(error)).splitlines()[0]
        raise InputError(
            f"{where}: cannot be cited: {said}; mend this text where it is written,"
            " in the registry, in an overlay or in the document"
        ) from error


def _refuse_unprintable(value: Any) -> Any:
    """Return a text or a number; refuse other values, such as a method without its brackets."""
    if isinstance(value, str | Number | np.bool_ | Undefined):
        return value
    name = getattr(value, "__name__", None)
    if callable(value) and name:
        raise TypeError(f"{name} is a method without its brackets; a column is table['{name}']")
    raise TypeError(f"a {type(value).__name__} is neither text nor a number")


ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, finalize=_refuse_unprintable)
"""Sandbox in which texts are filled, with the functions and filters that they can use."""
ENVIRONMENT.globals |= {"rows": rows, "cell": cell}
ENVIRONMENT.filters |= {
    "exp": math.exp,
    "number": typeset.number,
    "numbers": numbers,
    "percent": percent,
    "said": short_verdict,
    "span": span,
    "words": number_word,
}
