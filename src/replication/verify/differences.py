"""Differences between found numbers and those of the reference, beyond their tolerances."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Tolerance = Literal[
    "exact", "same processor", "across processors", "counts", "other seeds", "logarithm of p",
    "same evidence",
]  # fmt: skip


class Tolerances(NamedTuple):
    """Allowed distances of numbers from those of the reference.

    A value may be off by the largest of `spread` standard deviations of its column, `relative` of
    the value and `absolute`; the mean of a column by the same with `shift` in place of `spread`.
    Rounding errors scatter, so that a column which is off as a whole was computed otherwise.
    """

    name: Tolerance
    """Name of the class of comparison."""
    spread: float
    """Allowance for one value, in standard deviations of its column in the reference."""
    shift: float
    """Allowance for the mean of a column, in standard deviations of the column."""
    relative: float
    """Allowance for value and mean, as a share of the larger of both numbers."""
    absolute: float
    """Allowance for value and mean, where both numbers are rounding errors."""

    def allowed(self, of_spread: ArrayLike, was: ArrayLike, now: ArrayLike) -> NDArray[np.float64]:
        """Return the largest distance of two numbers, given what their spread allows."""
        relative = self.relative * np.maximum(np.abs(was), np.abs(now))
        return np.maximum(np.maximum(relative, self.absolute), of_spread)


SAME_PROCESSOR = Tolerances("same processor", 0, 0, 0, 0)
"""Tolerances on one processor: with equal packages and seeds it gives the same bits."""

FLOAT32_EPSILON = 2.0**-23
"""Relative precision of float32. A loss near 0 is a difference of logits, with their rounding
errors: without vector instructions some losses of 1e-5 differed by a quarter of this."""

ACROSS_PROCESSORS = Tolerances("across processors", 5e-3, 1e-3, 5e-4, FLOAT32_EPSILON)
"""Tolerances between processors: other vector instructions add in another order. Between AMD EPYC
25/1/1 and Intel Xeon 6/207/2 no number of the largest study differed by more than an eighth of the
rest of this. Where the largest encoder was fine-tuned from features with other last digits, losses
differed by up to a quarter of `spread`."""

COUNTS = Tolerances("counts", 0.5, 0.02, 5e-4, FLOAT32_EPSILON)
"""Tolerances of numbers like counts: a count of tokens above a threshold, or a time found on a
grid, jumps where a value close to a threshold moves. Few do at once, so that the mean of a column
hardly moves."""

OTHER_SEEDS = Tolerances("other seeds", 10, 1e-3, 5e-4, FLOAT32_EPSILON)
"""Tolerances where training amplifies rounding, until a run is as far from that of another
processor as from that of another seed. Means over seeds are then compared by `STANDARD_ERRORS`. In
a table without seeds, such as the weights of one run, which sum to 1, the mean stays. Between the
same two processors numbers of 1,500 updates on text were up to 8 standard deviations of their
column apart, and such a mean by less than a millionth. What no update has touched is compared as
anywhere else."""
STANDARD_ERRORS = 10
"""Allowed distance of two means over seeds, in their standard errors; a table has many such means.
Between the same two processors means were up to 4.1 apart."""
DECIDED_VERDICTS = ("verified", "reproduced", "replicated", "does not hold")
"""Verdicts of which a claim can have only one; the others leave something undecided."""

LOGARITHM_OF_P = Tolerances("logarithm of p", 0, 0, 0.05, 0.03)
"""Tolerances of log10(p): if all seeds nearly agree, p is 1e-25 or less and changed by its half."""

SAME_EVIDENCE = Tolerances("same evidence", 0, 0, 1e-6, 1e-12)
"""Tolerances of results of a few steps of float64 from the same numbers, on any processor."""

CONSTANT_COLUMNS = ("published", "learning_rate", "epochs", "resolution")
"""Columns of numbers as printed or set, or found from other numbers, which no processor changes."""
UNTRAINED_COLUMN = "first_loss"
"""Column of numbers from before the first update, besides those at iteration 0."""
UNCOMPARED = {
    ACROSS_PROCESSORS: ["digest", "effect"],
    COUNTS: ["digest", "effect"],
    OTHER_SEEDS: ["digest", "effect", "holding"],
}
"""Columns that are left out: digests of bits, and effects, quotients whose divisor may vanish."""
MOST_KINDS = 10
"""Largest number of values of a text that names kinds of rows; other texts name single rows."""


class Difference(NamedTuple):
    """A value that is not that of the reference."""

    place: str
    """Name of the table."""
    quantity: str
    """Name of the value in the table."""
    reference: str
    """Expected value."""
    found: str
    """Found value."""
    difference: float = math.nan
    """Distance of the found number from the expected one."""
    tolerance: Tolerance = "exact"
    """Name of the class of comparison."""
    allowed: float = 0.0
    """Largest distance that is allowed."""


def table_differences(
    place: str, found: pd.DataFrame, reference: pd.DataFrame, tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield every value of a table that is not that of the reference in the row of the same index.

    Texts and whole numbers are exact, other numbers are compared within the tolerances. All rows of
    the reference give the spread of its numbers, also where some rows alone are found. Rows with
    different values of a text that has few values, such as the name of a panel, have spreads of
    their own. If each of these kinds has a single seed, all rows are of one kind.
    """
    found, reference = (
        _with_whole_seeds(each.drop(columns=UNCOMPARED.get(tolerances, []), errors="ignore"))
        for each in (found, reference)
    )
    if [*found] != [*reference]:
        yield Difference(place, "columns", ", ".join(reference.columns), ", ".join(found.columns))
        return
    for name in found.columns:
        now, was = found[name], reference.loc[found.index, name]
        if now.equals(was):
            continue
        if not (pd.api.types.is_float_dtype(was) and pd.api.types.is_numeric_dtype(now)):
            yield from _exact_differences(place, now, was, tolerances)
        elif name in CONSTANT_COLUMNS:
            yield from _column_differences(place, name, found, reference, SAME_EVIDENCE)
        elif tolerances is OTHER_SEEDS:
            yield from _differences_of_seeds(place, name, found, reference)
        else:
            yield from _column_differences(place, name, found, reference, tolerances)


def _with_whole_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose seeds are whole numbers, also where some rows have no seed."""
    seeds = table.get("seed")
    if seeds is None or not pd.api.types.is_float_dtype(seeds) or (seeds % 1 > 0).any():
        return table
    return table.assign(seed=seeds.astype("Int64"))


def _exact_differences(
    place: str, found: pd.Series, reference: pd.Series, tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield the texts and whole numbers of a column that are other ones.

    One text makes texts of all numbers of its column, which are compared as they are written.
    """
    equal = (reference.astype(str) == found.astype(str)) | (reference.isna() & found.isna())
    if tolerances is OTHER_SEEDS and reference.name == "verdict":
        equal |= reference.isin(DECIDED_VERDICTS) != found.isin(DECIDED_VERDICTS)
    for row in equal.index[~equal.fillna(False).astype(bool)]:
        quantity = f"{reference.name} in row {row + 1}"
        yield Difference(place, quantity, str(reference[row]), str(found[row]))


def _column_differences(
    place: str, name: str, found: pd.DataFrame, reference: pd.DataFrame, tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield the values of a column, and its means, that are off by more than is allowed."""
    labels = _labels(reference)
    kinds = [label for label in labels if _is_kind(reference[label])]
    if "seed" in labels and not reference.duplicated(kinds or None).any():
        kinds = []
    # By texts: a missing name would equal nothing.
    texts = [", ".join(map(str, row)) for row in reference[kinds].to_numpy(object)]
    kind = pd.Series(texts, reference.index, dtype=str)
    of_seeds = tolerances is OTHER_SEEDS
    values = reference[_spread_column(name, reference) if of_seeds else name]
    values = values.where(np.isfinite(values))
    # A single number has no spread.
    alone = np.nan_to_num(values.std()) if of_seeds else 0.0
    spread = values.groupby(kind).transform("std").fillna(alone)[found.index]
    was, now, kind = reference.loc[found.index, name], found[name], kind[found.index]
    gap, finite = (now - was).abs(), np.isfinite(was) & np.isfinite(now)
    allowed = tolerances.allowed(tolerances.spread * spread, was, now)
    wrong = ~((finite & (gap <= allowed)) | (was == now) | (was.isna() & now.isna()))
    for row in wrong.index[wrong]:
        quantity = _labelled(f"{name} in row {row + 1}", reference.loc[row, labels])
        yield Difference(
            place, quantity, str(was[row]), str(now[row]), gap[row], tolerances.name, allowed[row]
        )
    rest = finite & ~kind.isin(kind[wrong])
    if of_seeds and "seed" in labels:  # means over seeds are compared by their errors
        rest &= found["seed"].isna()
    for each, rows in kind[rest].groupby(kind[rest], sort=False):
        means = was[rows.index].mean(), now[rows.index].mean()
        of_spread = tolerances.shift * spread[rows.index[0]]
        quantity = _labelled(f"mean of {name}", [each])
        yield from _mean_difference(place, quantity, *means, tolerances, of_spread)


def _differences_of_seeds(
    place: str, name: str, found: pd.DataFrame, reference: pd.DataFrame
) -> Iterator[Difference]:
    """Yield differences where training amplifies rounding: single values, and means over seeds.

    Each mean is over the seeds of rows that have all other labels in common.
    """
    is_trained = pd.Series(name != UNTRAINED_COLUMN, reference.index)
    if "iteration" in reference:
        is_trained &= reference["iteration"] > 0
    for rows, tolerances in ((~is_trained, ACROSS_PROCESSORS), (is_trained, OTHER_SEEDS)):
        part = found[rows[found.index]]
        if len(part):
            yield from _column_differences(place, name, part, reference[rows], tolerances)
    labels = [label for label in _labels(reference) if label != "seed"]
    labels += [label for label in CONSTANT_COLUMNS if label in reference]
    if "seed" not in _labels(reference) or not labels:
        return
    keys = reference.loc[part.index, [*labels, "seed"]].dropna(subset="seed")
    was, now = (_means_over_seeds(keys, table, name) for table in (reference, part))
    of_errors = STANDARD_ERRORS * np.hypot(was["error"], now["error"])
    for row in was.index[(was["seeds"] > 1) & (now["seeds"] > 1)]:
        quantity = _labelled(f"mean of {name} over seeds", was.loc[row, labels])
        means = was.loc[row, "mean"], now.loc[row, "mean"]
        yield from _mean_difference(place, quantity, *means, OTHER_SEEDS, of_errors[row])


def _means_over_seeds(keys: pd.DataFrame, table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the mean of every kind of row over seeds, its standard error, and their number."""
    columns = [name, _spread_column(name, table)]
    values = table.loc[keys.index, columns].set_axis(["mean", "error"], axis="columns")
    of_seeds = values.groupby([keys[key] for key in keys], sort=False, dropna=False).mean()
    kinds = of_seeds.reset_index("seed").groupby(
        [*keys.columns.drop("seed")], sort=False, dropna=False
    )
    return kinds.agg(
        mean=("mean", "mean"), error=("error", "sem"), seeds=("error", "count")
    ).reset_index()


def _mean_difference(
    place: str, quantity: str, was: float, now: float, tolerances: Tolerances, of_spread: float
) -> Iterator[Difference]:
    """Yield the difference of two means, if it is more than is allowed."""
    gap, allowed = abs(now - was), float(tolerances.allowed(of_spread, was, now))
    if gap > allowed:
        yield Difference(place, quantity, str(was), str(now), gap, tolerances.name, allowed)


def _labels(table: pd.DataFrame) -> list[str]:
    """Return the columns that say what a row is of: texts and whole numbers."""
    return [*table.select_dtypes(exclude="float")]


def _is_kind(column: pd.Series) -> bool:
    """Say whether the texts of a column are kinds of quantities, such as panels."""
    is_text = not pd.api.types.is_numeric_dtype(column)
    return is_text and column.name != "cell" and column.nunique() <= MOST_KINDS


def _spread_column(name: str, table: pd.DataFrame) -> str:
    """Return the column that gives the spread: `X` for means over seeds `X_mean`."""
    single = name.removesuffix("_mean")
    return single if single in table else name


def _labelled(quantity: str, labels: Iterable[object]) -> str:
    texts = ", ".join(map(str, labels))
    return f"{quantity} ({texts})" if texts else quantity
