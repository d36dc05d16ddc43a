"""Speed at which every direction is learned."""

import pandas as pd

from replication.study.contract import Measured
from transformer_dynamics.example.settings import MetricJob


def as_printed(errors: Measured[MetricJob], printed: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error over seeds beside the printed one."""
    found = errors.table.groupby(["variance", "update"])["error"].mean().rename("value")
    both = printed.rename(columns={"error_mean": "published"}).join(found, ["variance", "update"])
    return _name_cells(both, "variance", "update")[["cell", "value", "published"]]


def over_twice_the_variance(half_lives: Measured[MetricJob]) -> pd.DataFrame:
    """Return the half-life of a direction over that of the one before it, of every seed."""
    wide = _by_variance(half_lives)
    ratios = (wide / wide.shift(axis="columns")).iloc[:, 1:]
    return _name_cells(ratios.melt(ignore_index=False).reset_index(), "variance")


def last_over_first(half_lives: Measured[MetricJob]) -> pd.DataFrame:
    """Return the half-life of the last direction over that of the first, of every seed."""
    wide = _by_variance(half_lives)
    ratio = wide.iloc[:, -1] / wide.iloc[:, 0]
    return ratio.rename("value").reset_index().assign(cell="last over first")


def _by_variance(half_lives: Measured[MetricJob]) -> pd.DataFrame:
    """Return a row per seed, a column per direction, the largest variance first."""
    wide = half_lives.table.pivot(index="seed", columns="variance", values="half_life")
    return wide[half_lives.job.training.problem.variances]


def _name_cells(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Name every row's cell, such as `variance 0.5, update 20`."""
    parts = [name + " " + table[name].map("{:g}".format) for name in columns]
    return table.assign(cell=[", ".join(row) for row in zip(*parts, strict=True)])
