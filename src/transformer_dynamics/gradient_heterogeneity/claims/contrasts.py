"""Values of every single seed, and the rows that they are taken from.

Conditions of a seed share the head's start, samples and batches, so that differences are taken by
seed.
"""

from collections.abc import Callable

import pandas as pd

from replication.base.errors import OutOfRegimeError, UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MetricJob

CHANCE = 1.0
"""Loss over ln C of a network that knows nothing; it counts for training that was lost."""


def values_by_seed(table: pd.DataFrame, column: str, where: str) -> pd.Series:
    """Return a column by seed [seed].

    Args:
        table: one row per seed, with a column `seed`.
        column: its name.
        where: name of the rows, for a message.

    Raises:
        UnmeasurableError: if there is no row, several of a seed, or a value that is not a number,
            as after training was lost.
    """
    values = table.set_index("seed")[column]
    if values.empty or not values.index.is_unique:
        raise UnmeasurableError(f"{where}: needs one row per seed")
    if values.isna().any():
        raise UnmeasurableError(f"{where}: has a seed without a number")
    return values


def rows_of_task(table: pd.DataFrame, task: str) -> pd.DataFrame:
    """Return the rows of one task.

    Raises:
        OutOfRegimeError: if there is none.
    """
    own = table[table["task"] == task]
    if own.empty:
        raise OutOfRegimeError(f"nothing is trained on {task}")
    return own


def rows_of_run(table: pd.DataFrame, optimiser: str) -> pd.DataFrame:
    """Return the rows of an optimiser.

    Raises:
        UnmeasurableError: if it has several runs of a seed.
    """
    own = table[table["optimiser"] == optimiser]
    if own.duplicated(["seed", "step"]).any():
        raise UnmeasurableError(f"{optimiser}: needs one run per seed")
    return own


def mean_over_steps(table: pd.DataFrame, optimiser: str, column: str) -> "pd.Series[float]":
    """Return the mean of a column over all steps of an optimiser's run, by seed."""
    means = rows_of_run(table, optimiser).groupby("seed")[column].mean().reset_index()
    return values_by_seed(means, column, optimiser)


def case_gaps(
    rows: pd.DataFrame,
    value: Callable[[pd.DataFrame, str], "pd.Series[float]"],
    other: str = "adam",
) -> dict[str, "pd.Series[float]"]:
    """Return SGD-m minus another optimiser, by case and seed.

    Args:
        rows: of all cases.
        value: of rows and an optimiser, by seed.
        other: name of the optimiser.
    """
    return {
        str(case): value(own, "sgd_momentum") - value(own, other)
        for case, own in rows.groupby("case", sort=False)
    }


def directions(measured: Measured[MetricJob]) -> pd.DataFrame:
    """Return the metric `step_directions`, with the sets of tensors in words as `chosen`."""
    rows = measured.table
    return rows.assign(chosen=rows["set"].str.replace("_", " "))
