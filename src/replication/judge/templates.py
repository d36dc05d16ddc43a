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
`documents.texts` finds numbers that are typed all the same.
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
from replication.figures.typeset import number
from replication.judge.verdicts import Verdict, short_verdict

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip


def rows(table: pd.DataFrame, **cells: Any) -> pd.DataFrame:
    """Return the rows in which columns have given values, or one of a list of values.

    A LookupError if there is no such column or row.
    """
    for column, wanted in cells.items():
        found = table[table[column].isin(wanted if isinstance(wanted, list) else [wanted])]
        if found.empty:
            known = ", ".join(map(str, table[column].unique()))
            raise LookupError(f"no row has {column} {wanted}; there is {known}")
        table = found
    return table


def cell(table: pd.DataFrame, column: str, **cells: Any) -> Any:
    """Return the one value that a column has in the rows that `rows` finds, or a LookupError."""
    values = rows(table, **cells)[column].unique().tolist()
    if len(values) != 1:
        raise LookupError(f"{column} has {len(values)} values in {cells or 'all rows'}")
    return values[0]


def span(values: Iterable[float], digits: int = 3) -> str:
    """Return the least and the greatest of some numbers, `2 to 3`, or the number that all are."""
    known = [value for value in values if not math.isnan(value)]
    return " to ".join(dict.fromkeys(number(end, digits) for end in (min(known), max(known))))


def verdict_finder(find: Callable[[str], Verdict | None]) -> Callable[[str], Verdict]:
    """Return the function `verdict` of texts; it raises a LookupError if there is no verdict."""

    def verdict(claim: str) -> Verdict:
        found = find(claim)
        if found is None:
            raise LookupError(f"there is no verdict on claim {claim}")
        return found

    return verdict


def fill_template(text: str, where: str, known: Mapping[str, Any]) -> str:
    """Return a text with the numbers that its template cites from known values, by name.

    An InputError, which says where the text stands, if it cites what is not there.
    """
    try:
        return ENVIRONMENT.from_string(text).render(known)
    except InputError:
        raise
    except Exception as error:
        # Whatever a template does wrong, pandas and Jinja raise all kinds of errors for it.
        said = (str(error).strip() or repr(error)).splitlines()[0]
        said = f"there is no {said}" if isinstance(error, KeyError) else said
        raise InputError(
            f"{where}: cannot be cited: {said}; mend this text where it is written,"
            " in the registry, in an overlay or in the document"
        ) from error


def _refuse_unprintable(value: Any) -> Any:
    """Return a text or a number; refuse other values, such as a method without its brackets."""
    if isinstance(value, str | Number | np.bool_ | Undefined):
        return value
    raise TypeError(
        f"a {type(value).__name__} is neither text nor a number; a method needs brackets, and a"
        " column with the name of a method is table['name']"
    )


ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined, finalize=_refuse_unprintable)
"""Sandbox in which texts are filled, with the functions and filters that they can use."""
ENVIRONMENT.globals |= {"rows": rows, "cell": cell}
ENVIRONMENT.filters |= {
    "exp": math.exp,
    "number": number,
    "numbers": lambda values, digits=3: ", ".join(number(value, digits) for value in values),
    "percent": lambda value, digits=2: f"{number(100 * value, digits)} %",
    "said": short_verdict,
    "span": span,
    "words": lambda count: WORDS[count] if 0 <= count < len(WORDS) else number(count, 9),
}
