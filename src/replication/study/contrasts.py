"""Contrasts: one number per seed for a claim about an axis."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError


def change_along(table: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return the change of a value from the first to the last level, along each seed's own line.

    The line is that of least squares against ln(level), so that every level counts and equal ratios
    of levels are equal steps. The change between two levels is their difference. Seeds are
    independent of each other, but levels of one seed are not: a test takes one number per seed.

    Args:
        table: columns cell, seed, value and a column of levels.
        level: name of the column of levels, which are positive numbers.

    Returns:
        Columns cell, seed, value, a row per cell and seed.

    Raises:
        UnmeasurableError: if there is no cell, a cell has one level, or a seed lacks a level.
    """
    if table.empty:
        raise UnmeasurableError(f"nothing was found to measure along {level}")
    found = []
    for cell, rows in table.groupby("cell", sort=False):
        wide = rows.pivot(index="seed", columns=level, values="value")
        if wide.shape[1] < 2 or wide.isna().to_numpy().any():
            raise UnmeasurableError(
                f"{cell}: a change along {level} needs two or more levels, the same for all seeds"
            )
        position = np.log(wide.columns.to_numpy(np.float64))
        slopes = np.polyfit(position, wide.to_numpy(np.float64).T, 1)[0]
        change = slopes * (position[-1] - position[0])
        found.append(pd.DataFrame({"cell": cell, "seed": wide.index, "value": change}))
    return pd.concat(found, ignore_index=True)
