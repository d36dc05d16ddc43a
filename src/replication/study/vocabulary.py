"""The vocabulary of claims: evidence over seeds by a row of the registry, see `claims.Row`.

With v(s, a) the value of seed s at a, and a_1 < ... < a_n along an axis, a contrast is one number
c(s) for each comparison and seed. Words along an axis have the order in which they appear. A value
that is not finite, as after a training that diverged, makes that of its seed not finite.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from replication.base.errors import InputError, UnmeasurableError
from replication.base.strict import unknown_key
from replication.study.claims import Row
from replication.study.evidence import name_cells, seed_rows

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg,
    ast.And: operator.and_, ast.Or: operator.or_, ast.Not: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda values, known: values.isin(known),
    ast.NotIn: lambda values, known: ~values.isin(known),
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "exp": np.exp,
    "largest": lambda values: values.max(),
    "ln": lambda values: pd.Series(np.log(values.to_numpy(np.float64)), values.index),
    "measured": lambda values: values.notna(),
    "smallest": lambda values: values.min(),
}
VALUE = "the value"
"""Name of a column that no metric has."""


def stack(*measured: Any) -> pd.DataFrame:
    """Return the tables of a claim, one below the other."""
    tables: list[pd.DataFrame] = [each.table for each in measured]
    return pd.concat(tables, ignore_index=True)


def contrast(row: Row, table: pd.DataFrame) -> pd.DataFrame:
    """Return the evidence that a row makes of its table, or the table if it names no value.

    An `UnmeasurableError` if there is no row, a seed lacks a value that others have, or it has
    several in one place; an `InputError` if a column is unknown.
    """
    if row.value is None:
        return table
    if row.where:
        found = table[evaluate(row.where, table)]
        if found.empty:
            unknown = next(_unknown_words(row.where, table), "")
            raise UnmeasurableError(f"there is no row where {row.where}{unknown}")
        table = found
    word, given = row.contrast
    axes = [given] if isinstance(given, str) else [*given]
    for column in ("seed", *row.by, *row.mean_over):
        evaluate(column, table)
    places = {f"along {axis}": evaluate(axis, table) for axis in axes}
    others = [*given.values()] if word == "rank_correlation" else []
    values = {VALUE: evaluate(row.value, table), **{each: evaluate(each, table) for each in others}}
    table = table.assign(**places, **{name: own.astype(np.float64) for name, own in values.items()})
    place = [*places, "seed"]
    if table.duplicated([*row.by, *row.mean_over, *place]).any():
        raise UnmeasurableError(
            f"a seed has several values of {row.value} in one place; tell them apart by `where` or"
            " `by`, or take their mean by `mean_over`"
        )
    if row.mean_over:
        groups = table.groupby([*row.by, *place], sort=False, dropna=False)
        table = groups[[*values]].mean(skipna=False).reset_index()
    return seed_rows(_cells(row, table))


def _cells(row: Row, table: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield the name and the contrast [seed] of every comparison."""
    seeds = {*table["seed"]}
    groups: dict[Any, pd.DataFrame] = {(): table}
    if row.by:
        groups = dict(iter(table.groupby(row.by, sort=False, dropna=False)))
    # A column's values follow each other as they appear within those of the columns before it.
    first: dict[tuple[Any, ...], int] = {}
    for key in groups:
        for end in range(len(key)):
            first.setdefault(key[: end + 1], len(first))
    for key in sorted(groups, key=lambda key: [first[key[: end + 1]] for end in range(len(key))]):
        own, known = groups[key], dict(zip(row.by, key, strict=True))
        place = name_cells(own.iloc[:1], *row.by)["cell"].iloc[0]
        for name, more, values in _contrasts(row, own):
            cell = row.cell.format(**known, **more) if row.cell else place or name
            if {*values.index} != seeds:
                raise UnmeasurableError(f"{cell}: lacks a seed that another comparison has")
            yield cell, values


def _contrasts(
    row: Row, own: pd.DataFrame
) -> Iterator[tuple[str, dict[str, Any], "pd.Series[float]"]]:
    """Yield the contrast of one comparison, or several differences, with name and levels."""
    word, given = row.contrast
    if not word:
        yield str(row.value), {}, own.set_index("seed")[VALUE]
    elif word == "difference":
        for axes in _pairs(given, own):
            name = " at ".join(f"{of} minus {minus}" for of, minus in axes.values())
            of, minus = [*axes.values()][-1]
            yield name, {"of": of, "minus": minus}, _difference(own, axes)
    elif word == "across":
        ((axis, expression),) = given.items()
        wide = _wide(own, axis, VALUE, least=2)
        ends = {"first": wide.iloc[:, 0], "last": wide.iloc[:, -1]}
        levels = {str(level): values for level, values in wide.items()}
        yield (
            expression,
            {},
            evaluate(expression, ends | levels, f"value of {axis}", UnmeasurableError),
        )
    elif word == "rank_correlation":
        ((axis, other),) = given.items()
        first, second = (_wide(own, axis, each, least=3) for each in (VALUE, other))
        yield "rank correlation", {}, _rank_correlation(first, second)
    else:
        yield word.replace("_", " "), {}, ALONG[word](_wide(own, given, VALUE, least=2))


def evaluate(
    expression: str, known: Mapping[str, Any] | pd.DataFrame, noun: str = "column",
    error: type[InputError] = InputError,
) -> Any:  # fmt: skip
    """Return the value of an expression; the error names the unknown one of its names."""

    def value(node: ast.AST | None) -> Any:
        match node:
            case ast.Name() if node.id in known:
                found = known[node.id]
            case ast.Name():
                raise error(unknown_key(node.id, [*map(str, known)], noun))
            case ast.List():
                found = [*map(value, node.elts)]
            case ast.Call(func=ast.Name(id=name)):
                found = FUNCTIONS[name](*map(value, node.args))
            case ast.UnaryOp():
                found = OPERATORS[type(node.op)](value(node.operand))
            case ast.BinOp():
                found = OPERATORS[type(node.op)](value(node.left), value(node.right))
            case ast.BoolOp():
                found = reduce(OPERATORS[type(node.op)], map(value, node.values))
            case ast.Compare():
                sides = value(node.left), value(node.comparators[0])
                found = OPERATORS[type(node.ops[0])](*sides)
            case _:
                found = ast.literal_eval(node)  # type: ignore[arg-type]
        return found

    return value(ast.parse(expression, mode="eval").body)


def _unknown_words(expression: str, table: pd.DataFrame) -> Iterator[str]:
    """Yield the words that a condition asks of a column that has none of them."""
    for node in ast.walk(ast.parse(expression)):
        match node:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Eq() | ast.In()], comparators=[right]
            ):
                known = [*map(str, table[name].unique())]
                wanted = [each.value for each in ast.walk(right) if isinstance(each, ast.Constant)]
                for word in wanted:
                    if isinstance(word, str) and word not in known:
                        yield f": {_unknown(name, word, known)}"


def _unknown(column: str, value: object, known: Iterable[object]) -> str:
    nouns = f"values of {column}"
    return unknown_key(str(value), [*map(str, known)], f"value of {column}", nouns)


def _wide(own: pd.DataFrame, axis: str, value: str, least: int = 1) -> pd.DataFrame:
    """Return values [seed, axis] as numbers."""
    column = f"along {axis}"
    wide = own.pivot(index="seed", columns=column, values=value)
    if not pd.api.types.is_numeric_dtype(own[column]):
        wide = wide[own[column].unique()]
    if wide.shape[1] < least or wide.size > len(own):
        raise UnmeasurableError(
            f"a seed lacks a value at some {axis} that others have, or there are fewer than {least}"
        )
    return wide


def _pairs(
    given: Mapping[str, list[Any]], own: pd.DataFrame
) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Yield the two levels of every axis; those of the last axis may be several."""
    *inner, (axis, ends) = given.items()
    known = [*own[f"along {axis}"].unique()]
    words = {"first": known[0], "last": known[-1]}
    of, minus = (words.get(end, end) if isinstance(end, str) else end for end in ends)
    others = {"others": [each for each in known if each not in (of, minus)]}
    of, minus = (others.get(end, end) if isinstance(end, str) else end for end in (of, minus))
    for pair in product(*(end if isinstance(end, list) else [end] for end in (of, minus))):
        yield {**{name: tuple(levels) for name, levels in inner}, axis: pair}


def _difference(own: pd.DataFrame, axes: Mapping[str, tuple[Any, Any]]) -> "pd.Series[float]":
    """Return c(s) = v(s, of) - v(s, minus), along each axis in turn."""
    if not axes:
        return own.set_index("seed")[VALUE].sort_index()
    *inner, (axis, pair) = axes.items()
    known = own[f"along {axis}"]
    for level in pair:
        if level not in {*known}:
            raise UnmeasurableError(_unknown(axis, level, known.unique()))
    first, second = (_difference(own[known == level], dict(inner)) for level in pair)
    if not first.index.equals(second.index):
        raise UnmeasurableError(f"{pair[0]} and {pair[1]} have different seeds")
    return first - second


def _slope(wide: pd.DataFrame) -> "pd.Series[float]":
    """Return sum_i (a_i - m) v(s, a_i) / sum_i (a_i - m)^2, with m the mean of the a_i."""
    place = wide.columns.to_numpy(np.float64)
    centred = place - place.mean()
    slopes: pd.Series[float] = pd.Series(wide.to_numpy() @ centred, wide.index)
    return slopes / float(centred @ centred)


def _along(wide: pd.DataFrame) -> "pd.Series[float]":
    """Return the change from the first to the last level, along the line of least squares.

    The line is that of each seed against ln(level), so that every level counts and equal ratios of
    levels are equal steps. The change between two levels is their difference.
    """
    place = np.log(wide.columns.to_numpy(np.float64))
    change = pd.Series(np.nan, wide.index)
    finite = wide[np.isfinite(wide).all(axis=1)]
    change[finite.index] = np.polyfit(place, finite.to_numpy().T, 1)[0]
    return change * float(place[-1] - place[0])


def _rank_correlation(first: pd.DataFrame, second: pd.DataFrame) -> "pd.Series[float]":
    """Return the correlation of the ranks of two tables [seed, axis] within a seed [seed].

    0 where one of them is the same at all levels, NaN where a value is missing.
    """
    one, other = first.rank(axis=1), second[first.columns].rank(axis=1)
    one, other = (each.sub(each.mean(axis=1), axis=0) for each in (one, other))
    scale = ((one**2).sum(axis=1) * (other**2).sum(axis=1)) ** 0.5
    covariance = (one * other).sum(axis=1)
    is_whole = (one + other).notna().all(axis=1)
    return (covariance / scale.where(scale > 0, 1.0)).where(is_whole)


ALONG: dict[str, Callable[[pd.DataFrame], "pd.Series[float]"]] = {
    "slope": _slope,
    "along": _along,
    "last_over_first": lambda wide: wide.iloc[:, -1] / wide.iloc[:, 0],
    "mean": lambda wide: wide.mean(axis=1, skipna=False),
    "largest": lambda wide: wide.max(axis=1, skipna=False),
    "smallest": lambda wide: wide.min(axis=1, skipna=False),
}
"""Contrasts along one axis."""
