"""What claims on trained runs say of every single seed: differences between methods that share it.

A seed draws samples, random head, batches and dropout for all methods, so that differences are
taken by seed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.encoders.settings import TextName
from transformer_dynamics.lp_ft.figures.labels import METHODS, RUN, called
from transformer_dynamics.lp_ft.kernel_settings import (
    MeasureHeadControl,
    MeasureKernels,
    RegressionJob,
)
from transformer_dynamics.lp_ft.measure_settings import MeasureJob
from transformer_dynamics.lp_ft.run_settings import Method

Trained: TypeAlias = Measured[MeasureJob]
"""A metric of trained runs."""
Kernels: TypeAlias = Measured[MeasureKernels] | Measured[RegressionJob]
"""A metric of explicit kernels of one set."""
Heads: TypeAlias = Measured[MeasureHeadControl]
"""The metric of heads by direction and norm of one set."""
Seeds: TypeAlias = "pd.Series[float]"
"""A value by seed."""

FEW: frozenset[TextName] = frozenset({"cb", "rte", "mrpc"})
"""Sets with fewer than 500 test samples (56, 277, 408), on which an accuracy or a calibration error
is known to several points only: claims on these are shown and not judged there."""
TEST = "test"
"""The split that is of the set itself; others are out of distribution."""


def place(texts: str, split: str = TEST) -> str:
    """What was trained on, and tested on if that is another set: `CR to SST-2 sentences`."""
    own = called(texts)
    return own if split == TEST else f"{own} to {called(split)}"


def by_place(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows of every set, and of every split of it, if they have one.

    Raises:
        UnmeasurableError: if there is no row.
    """
    if rows.empty:
        raise UnmeasurableError("there are no runs of this kind")
    keys = [name for name in ("texts", "split") if name in rows]
    for key, own in rows.groupby(keys, sort=False):
        yield place(*map(str, key)), own


def of_methods(rows: pd.DataFrame, column: str, methods: Sequence[Method]) -> pd.DataFrame:
    """[seed, method] of one set.

    Raises:
        UnmeasurableError: if a method is missing, or lacks a seed of another one.
    """
    kept = rows[rows["method"].isin(methods)]
    if missing := [METHODS[name] for name in methods if name not in {*kept["method"]}]:
        raise UnmeasurableError(f"there is no {' and no '.join(missing)}")
    if len({*kept.groupby("method")["seed"].agg(frozenset)}) > 1:
        raise UnmeasurableError("methods that are compared have different seeds")
    if kept.duplicated(["seed", "method"]).any():
        raise UnmeasurableError("a method has several runs of a seed, of which one is to be chosen")
    return kept.pivot(index="seed", columns="method", values=column)


def differences(
    rows: pd.DataFrame, column: str, pairs: Sequence[tuple[Method, Method]]
) -> pd.DataFrame:
    """The first method of a pair minus the second, in every place.

    Args:
        rows: of one run per place, method and seed.
        column: what is compared; NaN of a run that diverged stays NaN.
        pairs: of methods.

    Returns:
        Evidence, see `evidence`.

    Raises:
        UnmeasurableError: if there is nothing to compare.
    """
    cells = {}
    for name, own in by_place(rows):
        for first, second in pairs:
            wide = of_methods(own, column, (first, second))
            cells[f"{name}: {METHODS[first]} minus {METHODS[second]}"] = wide[first] - wide[second]
    return evidence(cells)


def values(rows: pd.DataFrame, column: str, methods: Sequence[Method]) -> pd.DataFrame:
    """A column itself, in every place and of every method.

    Args:
        rows: of one run per place, method and seed.
        column: which.
        methods: whose.

    Returns:
        Evidence, see `evidence`.

    Raises:
        UnmeasurableError: if a method is missing.
    """
    cells = {}
    for name, own in by_place(rows):
        wide = of_methods(own, column, methods)
        cells.update({f"{name}: {METHODS[method]}": wide[method] for method in methods})
    return evidence(cells)


def evidence(cells: Mapping[str, Seeds]) -> pd.DataFrame:
    """Columns cell, seed, value.

    Raises:
        UnmeasurableError: if there is no cell.
    """
    if not cells:
        raise UnmeasurableError("there are no runs of this kind")
    return pd.concat(
        [
            pd.DataFrame({"cell": name, "seed": found.index, "value": found.to_numpy(float)})
            for name, found in cells.items()
        ],
        ignore_index=True,
    )


def check_equal_rates(rows: pd.DataFrame) -> None:
    """Refuse a comparison that learning rates, or batches, might decide.

    Args:
        rows: of methods that are compared, in every place.

    Raises:
        UnmeasurableError: names the first place where they differ.
    """
    for name, own in by_place(rows):
        for column, told in (("rate", "rates"), ("batch_size", "sizes of batches")):
            if len({*own[column]}) > 1:
                raise UnmeasurableError(f"{name} has methods with different {told}")


def runs_of(rows: pd.DataFrame) -> "DataFrameGroupBy[Any, Any]":
    """The rows of every run; a method can have several of a seed, of other rates, say."""
    return rows.groupby([name for name in RUN if name in rows], sort=False)


def ln(numbers: Seeds) -> Seeds:
    """Natural logarithms by seed; NaN of a run that diverged stays NaN."""
    return pd.Series(np.log(numbers.to_numpy(np.float64)), numbers.index)


def told_apart(rows: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The rows with these values."""
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def of_sets(measured: Iterable[Kernels | Heads]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The table of every set, with the set's name."""
    for each in measured:
        yield place(each.job.runs.texts.name), each.table
