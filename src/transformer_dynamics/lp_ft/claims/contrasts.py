"""Contrasts of a seed: differences between methods that share it.

A seed draws samples, random head, batches and dropout for all methods, so that differences are
taken by seed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, RUN_COLUMNS, set_label
from transformer_dynamics.lp_ft.settings.metrics import (
    HeadMetricJob,
    KernelMetricJob,
    MetricJob,
    RegressionMetricJob,
    SpectrumMetricJob,
)
from transformer_dynamics.lp_ft.settings.runs import Method
from transformer_dynamics.lp_ft.settings.samples import SMALL_TEST_SETS

RunMetric: TypeAlias = Measured[MetricJob]
"""Metric of trained runs."""
KernelMetric: TypeAlias = Measured[KernelMetricJob] | Measured[RegressionMetricJob]
"""Metric of explicit kernels of one set."""
SpectrumMetric: TypeAlias = Measured[SpectrumMetricJob]
"""Metric of the singular values of kernels of one set."""
HeadMetric: TypeAlias = Measured[HeadMetricJob]
"""Metric of heads by direction and norm of one set."""
SeedValues: TypeAlias = "pd.Series[float]"
"""Value by seed."""

TEST = "test"
"""Name of the split that is of the set itself; others are out of distribution."""


def trained(*measured: RunMetric) -> pd.DataFrame:
    """Return all runs: `place` has the names of their sets, `called` those of their methods."""
    rows = pd.concat([each.table for each in measured], ignore_index=True)
    splits = rows["split"] if "split" in rows else [TEST] * len(rows)
    places = [*map(place_label, rows["texts"], splits)]
    return rows.assign(place=places, called=rows["method"].map(METHOD_LABELS))


def of_sets(*measured: KernelMetric | SpectrumMetric | HeadMetric) -> pd.DataFrame:
    """Return tables of sets: `place` has the names of sets, `called` those of methods if any."""
    if not measured:
        raise UnmeasurableError("there is no condition to measure")
    rows = pd.concat(
        [each.table.assign(place=metric_set_label(each)) for each in measured], ignore_index=True
    )
    if "method" not in rows:
        return rows
    return rows.assign(called=rows["method"].map(METHOD_LABELS).fillna(rows["method"]))


def is_judged(sets: "pd.Series[str]", metric: RunMetric) -> "pd.Series[bool]":
    """Say which sets are judged: all but small ones, unless the runs have the whole set.

    Args:
        sets: names of sets.
        metric: of runs that are trained on such sets.
    """
    whole = {run.texts.name for run in metric.job.runs.values() if run.texts.train is None}
    return ~sets.isin(SMALL_TEST_SETS - whole)


def place_label(texts: str, split: str = TEST) -> str:
    """Return the set of a run, and the test set if it is another one: `CR to SST-2 sentences`."""
    own = set_label(texts)
    return own if split == TEST else f"{own} to {set_label(split)}"


def group_by_place(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of every set, and of every split of it if they have one, with its name.

    Raises:
        UnmeasurableError: if there is no row.
    """
    if rows.empty:
        raise UnmeasurableError("there are no runs of this kind")
    keys = [name for name in ("texts", "split") if name in rows]
    for key, own in rows.groupby(keys, sort=False):
        yield place_label(*map(str, key)), own


def pivot_methods(rows: pd.DataFrame, column: str, methods: Sequence[Method]) -> pd.DataFrame:
    """Pivot the rows of one set to the values of a column, [seed, method].

    Raises:
        UnmeasurableError: if a method is missing, or lacks a seed of another one.
    """
    kept = rows[rows["method"].isin(methods)]
    if missing := [METHOD_LABELS[name] for name in methods if name not in {*kept["method"]}]:
        raise UnmeasurableError(f"there is no {' and no '.join(missing)}")
    if len({*kept.groupby("method")["seed"].agg(frozenset)}) > 1:
        raise UnmeasurableError("methods that are compared have different seeds")
    if kept.duplicated(["seed", "method"]).any():
        raise UnmeasurableError("a method has several runs of a seed, of which one is to be chosen")
    return kept.pivot(index="seed", columns="method", values=column)


def check_equal_rates(rows: pd.DataFrame) -> None:
    """Refuse a comparison that learning rates, or batches, might decide.

    Raises:
        UnmeasurableError: names the first place where they differ.
    """
    for name, own in group_by_place(rows):
        for column, told in (("rate", "rates"), ("batch_size", "sizes of batches")):
            if len({*own[column]}) > 1:
                raise UnmeasurableError(f"{name} has methods with different {told}")


def group_by_run(rows: pd.DataFrame) -> "DataFrameGroupBy[Any, Any]":
    """Group rows by run; a method can have several of a seed, of other rates, say."""
    return rows.groupby([name for name in RUN_COLUMNS if name in rows], sort=False)


def ln(numbers: SeedValues) -> SeedValues:
    """Return natural logarithms by seed; NaN of a run that diverged stays NaN."""
    return pd.Series(np.log(numbers.to_numpy(np.float64)), numbers.index)


def rows_where(rows: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the rows whose columns have the given values."""
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return rows


def tables_by_set(
    measured: Iterable[KernelMetric | SpectrumMetric | HeadMetric],
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the table of every set."""
    for each in measured:
        yield metric_set_label(each), each.table


def metric_set_label(measured: KernelMetric | SpectrumMetric | HeadMetric) -> str:
    """Return the name of the set of one metric."""
    return place_label(measured.job.runs.texts.name)
