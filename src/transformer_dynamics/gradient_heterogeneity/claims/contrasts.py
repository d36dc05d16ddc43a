"""What a claim says of every single seed: values of cells, and differences of conditions.

Conditions of a seed share the head's start, samples and batches, so that differences are taken by
seed.
"""

from collections.abc import Mapping

import pandas as pd

from replication.errors import UnmeasurableError


def of_seeds(table: pd.DataFrame, column: str, where: str) -> pd.Series:
    """A column by seed [seed].

    Args:
        table: one row per seed, with a column `seed`.
        column: which.
        where: what the rows are of, for a message.

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


def evidence(cells: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Columns cell, seed, value.

    Args:
        cells: [seed] by cell.

    Raises:
        UnmeasurableError: if there is no cell, or a seed is missing in one of the conditions that
            it is taken from.
    """
    if not cells:
        raise UnmeasurableError("there is no condition to measure")
    table = pd.DataFrame(cells).rename_axis("seed")
    if table.isna().to_numpy().any():
        raise UnmeasurableError("conditions that are compared have different seeds")
    long = table.reset_index().melt(id_vars="seed", var_name="cell", value_name="value")
    return long[["cell", "seed", "value"]]
