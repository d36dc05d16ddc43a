"""Speed at which every direction is learned."""

import pandas as pd

from replication.study import contrasts
from replication.study.contract import Measured
from replication.study.evidence import name_cells
from transformer_dynamics.example.settings import MetricJob


def as_printed(errors: Measured[MetricJob], printed: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error over seeds beside the printed one."""
    found = errors.table.groupby(["variance", "update"])["error"].mean().rename("value")
    both = printed.rename(columns={"error_mean": "published"}).join(found, ["variance", "update"])
    return name_cells(both, "variance", "update")[["cell", "value", "published"]]


def over_twice_the_variance(half_lives: Measured[MetricJob]) -> pd.DataFrame:
    """Return the half-life of a direction over that of the one before it, of every seed."""
    wide = half_lives.table.pivot(index="seed", columns="variance", values="half_life")
    wide = wide[half_lives.job.training.problem.variances]
    ratios = (wide / wide.shift(axis="columns")).iloc[:, 1:]
    return name_cells(ratios.melt(ignore_index=False).reset_index(), "variance")


def last_over_first(half_lives: Measured[MetricJob]) -> pd.DataFrame:
    """Return the half-life of the last direction over that of the first, of every seed."""
    return contrasts.last_over_first(half_lives.table, "variance", "half_life", descending=True)
