"""Differences between found numbers and those of the reference, beyond their tolerances."""

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

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

CONSTANT_COLUMNS = ("published", "learning_rate", "epochs")
"""Columns of numbers as printed or set, which no processor changes."""
UNTRAINED_COLUMN = "first_loss"
"""Column of numbers from before the first update, besides those at iteration 0."""
EFFECT_COLUMN = "effect"
"""Column of quotients whose divisor may vanish."""
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
    place: str,
    found: pd.DataFrame,
    reference: pd.DataFrame,
    tolerances: Tolerances,
    whole: pd.DataFrame | None = None,
) -> Iterator[Difference]:
    """Yield every value of a table that is not that of the reference.

    Rows are matched by their texts and whole numbers, which are exact, in their order; other
    numbers are compared within the tolerances. Rows with different values of a text that has few
    values, such as the name of a panel, have spreads of their own.

    Args:
        place: name of the table.
        found: the table as it was computed.
        reference: the rows of the reference that should be found.
        tolerances: allowed distances of numbers that are not whole.
        whole: all rows of the reference, which give the spread of its numbers; `reference` if left
            out. If each kind of them has a single seed, all are of one kind.
    """
    whole = reference if whole is None else whole
    found, reference, whole = map(_with_whole_seeds, (found, reference, whole))
    if tolerances in {ACROSS_PROCESSORS, COUNTS, OTHER_SEEDS}:
        uncompared = [EFFECT_COLUMN, *(["holding"] if tolerances is OTHER_SEEDS else [])]
        found, reference = (
            each.drop(columns=uncompared, errors="ignore") for each in (found, reference)
        )
    if list(found.columns) != list(reference.columns):
        yield Difference(place, "columns", ", ".join(reference.columns), ", ".join(found.columns))
        return
    if len(found) != len(reference):
        yield Difference(place, "number of rows", str(len(reference)), str(len(found)))
        return
    numbers = [
        name
        for name in reference.columns
        if pd.api.types.is_float_dtype(reference[name])
        and pd.api.types.is_numeric_dtype(found[name])
    ]
    labels = reference.columns.drop(numbers)
    for name in reference.columns:
        if found[name].equals(reference[name]):
            continue
        if name in numbers:
            allowed = SAME_EVIDENCE if name in CONSTANT_COLUMNS else tolerances
            compared = _Column(place, name, found, reference, whole, list(labels))
            if allowed is OTHER_SEEDS:
                yield from _differences_of_seeds(compared)
            else:
                yield from _column_differences(compared, allowed)
            continue
        yield from _exact_differences(place, found[name], reference[name], tolerances)


def _exact_differences(
    place: str, found: pd.Series, reference: pd.Series, tolerances: Tolerances
) -> Iterator[Difference]:
    """Yield the texts and whole numbers of a column that are other ones."""
    name = reference.name
    equal = (reference == found).fillna(False) | (reference.isna() & found.isna())
    if tolerances is OTHER_SEEDS and name == "verdict":
        equal |= reference.isin(DECIDED_VERDICTS) != found.isin(DECIDED_VERDICTS)
    for row in reference.index[~equal.astype(bool)]:
        yield Difference(place, f"{name} in row {row + 1}", str(reference[row]), str(found[row]))


def _with_whole_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose seeds are whole numbers, also where some rows have no seed."""
    seeds = table.get("seed")
    if seeds is None or not pd.api.types.is_float_dtype(seeds) or (seeds % 1 > 0).any():
        return table
    return table.assign(seed=seeds.astype("Int64"))


class _Column(NamedTuple):
    """A column of numbers that is compared."""

    place: str
    name: str
    found: pd.DataFrame
    reference: pd.DataFrame
    whole: pd.DataFrame
    labels: list[str]

    def part(self, *, trained: bool) -> Self:
        """Return the rows that an update has touched, or the others."""
        rows = _is_trained(self.reference, self.name) == trained
        return self._replace(
            found=self.found.loc[rows],
            reference=self.reference.loc[rows],
            whole=self.whole.loc[_is_trained(self.whole, self.name) == trained],
        )


def _group_by_kind(
    table: pd.DataFrame, kinds: list[str]
) -> Iterable[tuple[tuple[object, ...], pd.DataFrame]]:
    if not kinds:
        return [((), table)]
    return table.groupby(kinds, sort=False, dropna=False)


def _column_differences(column: _Column, tolerances: Tolerances) -> Iterator[Difference]:
    """Yield the values of a column, and its mean, that are off by more than is allowed."""
    place, name, found, reference, whole, labels = column
    kinds = [label for label in labels if _is_kind(whole[label])]
    if "seed" in labels and not whole.duplicated(kinds or None).any():
        kinds = []
    of_seeds = tolerances is OTHER_SEEDS
    values = whole[_spread_column(name, whole) if of_seeds else name]
    values = values.where(np.isfinite(values))
    # By their texts, as a kind may be missing, which equals nothing.
    spreads = {
        str(kind): float(values[rows.index].std()) for kind, rows in _group_by_kind(whole, kinds)
    }
    # A single number has no spread.
    alone = float(np.nan_to_num(values.std())) if of_seeds else 0.0
    for kind, rows in _group_by_kind(reference, kinds):
        a, b = reference.loc[rows.index, name], found.loc[rows.index, name]
        finite = np.isfinite(a) & np.isfinite(b)
        spread = spreads.get(str(kind), math.nan)
        spread = alone if math.isnan(spread) else spread
        gap = (b - a).abs()
        allowed = _largest_allowed(tolerances, tolerances.spread * spread, a, b)
        wrong = ~((finite & (gap <= allowed)) | (a == b) | (a.isna() & b.isna()))
        for row in a.index[wrong]:
            quantity = _labelled_quantity(f"{name} in row {row + 1}", reference.loc[row, labels])
            yield Difference(
                place, quantity, str(a[row]), str(b[row]), gap[row], tolerances.name,
                float(allowed[row]),
            )  # fmt: skip
        # Means over seeds are compared by their errors.
        rest = finite & rows["seed"].isna() if of_seeds and "seed" in labels else finite
        if rest.any() and not wrong.any():
            was, now = float(a[rest].mean()), float(b[rest].mean())
            quantity = _labelled_quantity(f"mean of {name}", kind)
            yield from _mean_difference(
                place, quantity, was, now, tolerances, tolerances.shift * spread
            )


def _is_trained(table: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """Say for every row whether an update has touched its value of a column."""
    if "iteration" in table and name != UNTRAINED_COLUMN:
        return table["iteration"] > 0
    return pd.Series(name != UNTRAINED_COLUMN, index=table.index)


def _differences_of_seeds(column: _Column) -> Iterator[Difference]:
    """Yield differences where training amplifies rounding: single values, and means over seeds.

    Each mean is over the seeds of rows that have all other labels in common.
    """
    for part, allowed in (
        (column.part(trained=False), ACROSS_PROCESSORS),
        (column.part(trained=True), OTHER_SEEDS),
    ):
        if len(part.reference):
            yield from _column_differences(part, allowed)
    place, name, found, reference, _, labels = column.part(trained=True)
    same = [
        label for label in (*labels, *CONSTANT_COLUMNS) if label != "seed" and label in reference
    ]
    if "seed" not in labels or not same:
        return
    keys = reference[[*same, "seed"]].dropna(subset="seed")
    was, now = (_means_over_seeds(keys, table, name) for table in (reference, found))
    several = (was["seeds"] > 1) & (now["seeds"] > 1)
    of_errors = STANDARD_ERRORS * np.hypot(was["error"], now["error"])
    for row, kind in enumerate(was[same].itertuples(index=False, name=None)):
        if several[row]:
            quantity = _labelled_quantity(f"mean of {name} over seeds", kind)
            means = float(was["mean"][row]), float(now["mean"][row])
            yield from _mean_difference(place, quantity, *means, OTHER_SEEDS, of_errors[row])


def _means_over_seeds(keys: pd.DataFrame, table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the mean of every kind of row over seeds, its standard error, and their number."""
    columns = [name, _spread_column(name, table)]
    values = table.loc[keys.index, columns].set_axis(["mean", "error"], axis="columns")
    of_seeds = values.groupby([keys[key] for key in keys], sort=False, dropna=False).mean()
    same = [key for key in keys if key != "seed"]
    kinds = of_seeds.reset_index().groupby(same, sort=False, dropna=False)
    return kinds.agg(
        mean=("mean", "mean"), error=("error", "sem"), seeds=("error", "count")
    ).reset_index()


def _spread_column(name: str, table: pd.DataFrame) -> str:
    """Return the column that gives the spread: `X` for means over seeds `X_mean`."""
    single = name.removesuffix("_mean")
    return single if single in table else name


def _mean_difference(
    place: str, quantity: str, was: float, now: float, tolerances: Tolerances, of_spread: float
) -> Iterator[Difference]:
    """Yield the difference of two means, if it is more than is allowed."""
    gap, allowed = abs(now - was), float(_largest_allowed(tolerances, of_spread, was, now))
    if gap > allowed:
        yield Difference(place, quantity, str(was), str(now), gap, tolerances.name, allowed)


def _largest_allowed(
    tolerances: Tolerances, of_spread: float, a: ArrayLike, b: ArrayLike
) -> Floats:
    relative = tolerances.relative * np.maximum(np.abs(a), np.abs(b))
    return np.maximum(np.maximum(relative, tolerances.absolute), of_spread)


def _labelled_quantity(quantity: str, labels: Iterable[object]) -> str:
    texts = ", ".join(map(str, labels))
    return f"{quantity} ({texts})" if texts else quantity


def _is_kind(column: pd.Series) -> bool:
    """Say whether the texts of a column are kinds of quantities, such as panels."""
    is_text = not pd.api.types.is_numeric_dtype(column)
    return is_text and column.name != "cell" and column.nunique() <= MOST_KINDS
