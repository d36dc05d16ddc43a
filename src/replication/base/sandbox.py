"""The sandbox of texts, see `citation`: it limits what a template can do, and how much.

A template writes nothing, runs no text as code, ends, and does not fill the memory. Operations that
grow a text by a number, as `"a" * 9` and `"a".center(9)` do, are refused, so that an expression is
no larger than its parts. Values that get a name, or come from a call or a filter, are counted.
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
"""Largest number of decimal digits of a float."""
_LONGEST_TEXT = 10_000
"""Largest number of characters of a value."""
_LONGEST_RESULT = 100_000
"""Largest number of characters of a whole text."""
_LONGEST_LOOP = 1_000
"""Largest length of a `range`."""
_MOST_STEPS = 500_000
"""Largest number of steps: turns of loops, items of lists with a name or from a call, and calls."""
_CALL = 50
"""Steps that a call counts for, as most calls compute with a table."""
_TABLE_NAMES = {
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
"""Attributes of tables, and of values computed from tables, that a text can use.

None of them calls a function by its name, runs text as code or writes."""
_ARRAY_NAMES = {"item", "ndim", "shape", "size", "tolist"}
"""Attributes of arrays that a text can use; other methods write into an array."""
_NUMERIC_NAMES = {"cumsum", "mul"}
"""Attributes of tables for numbers only, as they repeat words."""
_GROWING_NAMES = {
    "center", "expandtabs", "format", "format_map", "ljust", "rjust", "to_bytes", "zfill",
}  # fmt: skip
"""Attributes of texts and numbers that a text cannot use, as their results can be of any length."""
_FILTERS = {
    "abs", "attr", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby",
    "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "reverse", "select", "selectattr", "sort", "string", "sum", "title",
    "trim", "unique", "upper", "wordcount", "wordwrap",
}  # fmt: skip
"""Filters of Jinja that a text can use."""
_PLAIN = (str, int, float, list, tuple, dict)


class _Undefined(StrictUndefined):
    """A missing value whose error names the column that a table lacks."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, pd.DataFrame) and not self._undefined_hint:
            return missing_column_message(self._undefined_obj, str(self._undefined_name))
        return super()._undefined_message


def _refuse_long_text(value: Any) -> Any:
    """Return a value; refuse a text that is longer than any that is needed."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise ValueError(f"a text of {len(value)} characters is longer than {_LONGEST_TEXT}")
    return value


def _bound_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter with bounded results; `wraps` keeps the marks that Jinja gave the filter."""

    @wraps(function)
    def bounded(*arguments: Any, **named: Any) -> Any:
        return _refuse_long_text(function(*arguments, **named))

    return bounded


@pass_environment
def _count_items(sandbox: "Sandbox", value: Any) -> Any:
    """Return a bounded value, and count the items of a list and of the lists within it."""
    lists = [value] if isinstance(value, list | tuple | dict) else []
    while lists:
        found = lists.pop()
        items = [*found.values()] if isinstance(found, dict) else found
        sandbox.count_steps(len(items) + sum(len(item) for item in items if isinstance(item, str)))
        lists += [item for item in items if isinstance(item, list | tuple | dict)]
    return _refuse_long_text(value)


@pass_environment
def _count_turns(sandbox: "Sandbox", items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of a loop, and count its turns."""
    for item in items:
        sandbox.count_steps()
        yield item


def _limit_template(template: nodes.Template) -> None:
    """Add filters to a template that count the turns of loops and all values that get a name."""
    for loop in template.find_all(nodes.For):
        loop.iter = _filter_node(loop.iter, "counted", loop.lineno)
    for named in template.find_all(nodes.Assign):
        named.node = _filter_node(named.node, "measured", named.lineno)
    for block in template.find_all(nodes.AssignBlock):
        block.filter = _filter_node(block.filter, "measured", block.lineno)


def _filter_node(node: nodes.Node | None, name: str, line: int) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=line)


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment in which a text can compute with tables, but neither writes nor runs code."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        """Set up filters and globals, without those that texts must not use."""
        super().__init__(undefined=_Undefined, autoescape=False, finalize=_refuse_unprintable)
        self.steps = 0
        self.globals["range"] = _range
        del self.globals["lipsum"]
        self.filters = {name: _bound_filter(self.filters[name]) for name in _FILTERS}
        self.filters |= {"counted": _count_turns, "measured": _count_items, "round": _round}

    def shown(self, text: str, known: Mapping[str, Any]) -> str:
        """Return the text that a template renders.

        Args:
            text: the template.
            known: values that it can use, by name; it can change those that can be changed.

        Raises:
            Exception: of any kind, if it uses what is refused.
        """
        # Every text has an overlay of its own, which counts its steps.
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
        """Generate the code of a template after its limits are added; a hook of Jinja."""
        _limit_template(source)
        return super()._generate(source, *where, **more)

    def count_steps(self, number: int = 1) -> None:
        """Add to the steps of a text; refuse more than it may take."""
        self.steps += number
        if self.steps > _MOST_STEPS:
            raise ValueError(f"its loops, lists and calls take more than {_MOST_STEPS} steps")

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return the result of a call, and count the call and the items of its result."""
        self.count_steps(_CALL)
        return _count_items(self, super().call(context, obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator; refuse texts and whole numbers that exceed floats."""
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
        """Return an attribute; a column precedes any other of its name except usable methods."""
        if attribute in _column_names(obj) and not _is_method(obj, attribute):
            return obj[attribute]
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Say whether a text can use an attribute of a model, table, array or plain value."""
        if isinstance(obj, BaseModel):
            return attr in type(obj).model_fields
        if isinstance(obj, np.ndarray | np.generic | ExtensionArray):
            return attr in _ARRAY_NAMES
        module = type(obj).__module__.partition(".")[0]
        # A row of itertuples is of pandas, too, but a tuple.
        if module == "pandas" and not isinstance(obj, tuple):
            return attr in _TABLE_NAMES and (attr not in _NUMERIC_NAMES or _is_of_numbers(obj))
        plain = isinstance(obj, _PLAIN) or module == "jinja2"
        return plain and attr not in _GROWING_NAMES and super().is_safe_attribute(obj, attr, value)


def _is_of_numbers(obj: Any) -> bool:
    """Say whether a value is no text or list and, if it is a table, holds none."""
    if isinstance(obj, pd.DataFrame):
        return all(_is_of_numbers(column) for _, column in obj.items())
    if isinstance(obj, pd.Series | pd.Index | np.ndarray | ExtensionArray):
        return is_numeric_dtype(obj.dtype) or all(map(_is_of_numbers, np.ravel(np.asarray(obj))))
    return not isinstance(obj, str | list | tuple | dict)


def _column_names(obj: Any) -> Iterable[Any]:
    """Return the names of columns, or of the values of a row."""
    match obj:
        case pd.DataFrame():
            return list(obj)
        case DataFrameGroupBy():
            return list(obj.obj)
        case pd.Series():
            return list(obj.index)
    return []


def _is_method(obj: Any, name: str) -> bool:
    return name in _TABLE_NAMES and isroutine(getattr(obj, name))


def _range(*ends: int) -> range:
    found = range(*ends)
    if len(found) > _LONGEST_LOOP:
        raise ValueError(f"a loop over {len(found)} numbers is longer than {_LONGEST_LOOP}")
    return found


def _round(value: Any, digits: int = 0) -> Any:
    """Round to digits after the point, at most those of a float, as more take long to compute."""
    return round(value, max(-MOST_DIGITS, min(digits, MOST_DIGITS)))


def _refuse_unprintable(value: Any) -> Any:
    """Return a text or a number; refuse other values, such as a method without its brackets."""
    if isinstance(value, str | Number | np.bool_ | Undefined):
        return value
    if isroutine(value):
        name = getattr(value, "__name__", "this")
        raise TypeError(f"{name} is a method without its brackets; a column is table['{name}']")
    raise TypeError(f"a {type(value).__name__} is neither text nor a number")


def missing_column_message(table: pd.DataFrame, column: str) -> str:
    """Say which column a table lacks, and which one was probably meant."""
    return unknown_key(column, list(map(str, table)), "column")
