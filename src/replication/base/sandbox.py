"""The sandbox of texts, see `citation`: what a template can do, and how much of it.

Nothing is written, no text is run as code, and none goes on for ever or fills the memory. What
grows by a number, as `"a" * 9` and `"a".center(9)` do, is not for texts. So an expression gives no
more than what stands in it, and what gets a name, or comes of a call or a filter, is measured.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from inspect import isroutine
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import StrictUndefined, Undefined, nodes, pass_environment
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pandas.api.extensions import ExtensionArray
from pandas.api.types import is_numeric_dtype
from pandas.api.typing import DataFrameGroupBy
from pydantic import BaseModel

from replication.base.strict import unknown_key

MOST_DIGITS = 17
"""Of a float."""
_LONGEST_TEXT = 10_000
"""Characters of a value."""
_LONGEST_RESULT = 100_000
"""Characters of all that a text shows."""
_LONGEST_LOOP = 1_000
"""Numbers that `range` counts."""
_MOST_STEPS = 500_000
"""Turns of loops, items of lists that get a name or come of a call, and calls."""
_CALL = 50
"""Steps that a call counts for, as most compute with a table."""
_COMPUTING = {
    "all", "any", "count", "first", "idxmax", "idxmin", "last", "max", "mean", "median", "min",
    "nunique", "prod", "quantile", "sem", "size", "std", "sum", "var",
    "T", "abs", "clip", "columns", "corr", "cummax", "cummin", "cumsum", "diff", "div", "drop",
    "drop_duplicates", "dropna", "endswith", "eq", "ge", "groupby", "gt", "head", "iat", "iloc",
    "index", "isin", "isna", "items", "iterrows", "itertuples", "le", "loc", "lt", "mul",
    "name", "names", "ndim", "ne", "ngroups", "nlargest", "notna", "nsmallest", "nth", "pct_change",
    "pivot", "rank", "reset_index", "round", "set_index", "shape", "shift", "sort_index",
    "sort_values", "squeeze", "stack", "startswith", "str", "sub", "tail", "tolist", "unique",
    "unstack", "value_counts", "values", "xs",
}  # fmt: skip
"""What a text can do with a table and what is computed of it: nothing that calls a function by its
name, runs text as code or writes."""
_OF_ARRAYS = {"item", "ndim", "shape", "size", "tolist"}
"""And with an array, whose other methods write into the one that they are given."""
_OF_NUMBERS = {"cumsum", "mul"}
"""Those of them that repeat words."""
_GROWING = {
    "center", "expandtabs", "format", "format_map", "ljust", "rjust", "to_bytes", "zfill",
}  # fmt: skip
"""What texts and numbers can do and makes of them something as long as one likes."""
_FILTERS = {
    "abs", "attr", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby",
    "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "reverse", "select", "selectattr", "sort", "string", "sum", "title",
    "trim", "unique", "upper", "wordcount", "wordwrap",
}  # fmt: skip
"""Jinja's own, as far as a text can use them."""
_PLAIN = (str, int, float, list, tuple, dict)


class _Undefined(StrictUndefined):
    """Says which column a table lacks."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, pd.DataFrame) and not self._undefined_hint:
            return no_column(self._undefined_obj, str(self._undefined_name))
        return super()._undefined_message


def _bounded(value: Any) -> Any:
    """Refuse a text that is longer than any that is needed."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise ValueError(f"a text of {len(value)} characters is longer than {_LONGEST_TEXT}")
    return value


def _bounding(function: Callable[..., Any]) -> Callable[..., Any]:
    """Bound what a filter gives; `wraps` keeps what Jinja has marked it with."""

    @wraps(function)
    def bounding(*arguments: Any, **named: Any) -> Any:
        return _bounded(function(*arguments, **named))

    return bounding


@pass_environment
def _measured(sandbox: "Sandbox", value: Any) -> Any:
    """Bound a value, and count what is in a list and in those in it."""
    lists = [value] if isinstance(value, list | tuple | dict) else []
    while lists:
        found = lists.pop()
        items = [*found.values()] if isinstance(found, dict) else found
        sandbox.step(len(items) + sum(len(item) for item in items if isinstance(item, str)))
        lists += [item for item in items if isinstance(item, list | tuple | dict)]
    return _bounded(value)


@pass_environment
def _counted(sandbox: "Sandbox", items: Iterable[Any]) -> Iterator[Any]:
    """Yield what a loop runs over, and count its turns."""
    for item in items:
        sandbox.step()
        yield item


def _limit(template: nodes.Template) -> None:
    """Have the turns of loops counted, and whatever gets a name measured."""
    for loop in template.find_all(nodes.For):
        loop.iter = _filtered(loop.iter, "counted", loop.lineno)
    for named in template.find_all(nodes.Assign):
        named.node = _filtered(named.node, "measured", named.lineno)
    for block in template.find_all(nodes.AssignBlock):
        block.filter = _filtered(block.filter, "measured", block.lineno)


def _filtered(node: nodes.Node | None, name: str, line: int) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=line)


class Sandbox(ImmutableSandboxedEnvironment):
    """Tables can be computed with; nothing is written, and no text is run as code."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        """Leave out whatever is not for texts."""
        super().__init__(undefined=_Undefined, autoescape=False, finalize=_only_words)
        self.steps = 0
        self.globals["range"] = _range
        del self.globals["lipsum"]
        self.filters = {name: _bounding(self.filters[name]) for name in _FILTERS}
        self.filters |= {"counted": _counted, "measured": _measured, "round": _round}

    def shown(self, text: str, known: Mapping[str, Any]) -> str:
        """Return what a template shows.

        Args:
            text: the template.
            known: what it can use, by name; it can change what can be changed.

        Raises:
            Exception: of any kind, if it does what it cannot do.
        """
        # One for each text counts its steps.
        own = self.overlay()
        own.steps = 0
        pieces, length = [], 0
        for piece in own.from_string(text).generate(known):
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST_RESULT:
                raise ValueError(f"it shows more than {_LONGEST_RESULT} characters")
        return "".join(pieces)

    def _generate(self, source: nodes.Template, *where: Any, **more: Any) -> str:
        """Generate the code of a template, which Jinja lets a class of its own do."""
        _limit(source)
        return super()._generate(source, *where, **more)

    def step(self, number: int = 1) -> None:
        """Count some of the steps that a text may take."""
        self.steps += number
        if self.steps > _MOST_STEPS:
            raise ValueError(f"its loops, lists and calls take more than {_MOST_STEPS} steps")

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Count a call, and measure what it gives."""
        self.step(_CALL)
        return _measured(self, super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse to repeat or to fill in a text, and whole numbers that are no floats."""
        if not (_is_of_numbers(left) and _is_of_numbers(right)):
            raise TypeError(f"{operator} is for numbers only")
        whole = isinstance(left, int) and isinstance(right, int)
        if whole and operator == "**":
            float(left) ** right
        found = super().call_binop(context, operator, left, right)
        if whole:
            float(found)
        return found

    def wrap_str_format(self, value: Any) -> None:
        """Leave `"{}".format` to `is_safe_attribute`; Jinja would make it safe, but not small."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A column comes before all that pandas calls so but the methods that a text can call."""
        if attribute in _own_names(obj) and not _is_method(obj, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Fields of a model, what computes of tables and arrays, and of plain values all safe."""
        if isinstance(obj, BaseModel):
            return attr in type(obj).model_fields
        if isinstance(obj, np.ndarray | np.generic | ExtensionArray):
            return attr in _OF_ARRAYS
        module = type(obj).__module__.partition(".")[0]
        # A row of itertuples is of pandas, too, but a tuple.
        if module == "pandas" and not isinstance(obj, tuple):
            return attr in _COMPUTING and (attr not in _OF_NUMBERS or _is_of_numbers(obj))
        plain = isinstance(obj, _PLAIN) or module == "jinja2"
        return plain and attr not in _GROWING and super().is_safe_attribute(obj, attr, value)


def _is_of_numbers(obj: Any) -> bool:
    """Whether a value, a table, or what was computed of it, neither is nor has a word or a list."""
    if isinstance(obj, pd.DataFrame):
        return all(_is_of_numbers(column) for _, column in obj.items())
    if isinstance(obj, pd.Series | pd.Index | np.ndarray | ExtensionArray):
        return is_numeric_dtype(obj.dtype) or all(map(_is_of_numbers, np.ravel(np.asarray(obj))))
    return not isinstance(obj, str | list | tuple | dict)


def _own_names(obj: Any) -> Iterable[Any]:
    """Names of columns, or of what stands in a row."""
    match obj:
        case pd.DataFrame():
            return list(obj)
        case DataFrameGroupBy():
            return list(obj.obj)
        case pd.Series():
            return list(obj.index)
    return []


def _is_method(obj: Any, name: str) -> bool:
    return name in _COMPUTING and isroutine(getattr(obj, name))


def _range(*ends: int) -> range:
    found = range(*ends)
    if len(found) > _LONGEST_LOOP:
        raise ValueError(f"a loop over {len(found)} numbers is longer than {_LONGEST_LOOP}")
    return found


def _round(value: Any, digits: int = 0) -> Any:
    """Round to digits after the point; more of them than a float has would take long to find."""
    return round(value, max(-MOST_DIGITS, min(digits, MOST_DIGITS)))


def _only_words(value: Any) -> Any:
    """Refuse to show what is neither text nor a number: a method whose brackets were forgotten."""
    if isinstance(value, str | Number | np.bool_ | Undefined):
        return value
    if isroutine(value):
        name = getattr(value, "__name__", "this")
        raise TypeError(f"{name} is a method without its brackets; a column is table['{name}']")
    raise TypeError(f"a {type(value).__name__} is neither text nor a number")


def no_column(table: pd.DataFrame, column: str) -> str:
    """Say which column a table lacks, and which one was probably meant."""
    return unknown_key(column, list(map(str, table))).replace("key", "column")
