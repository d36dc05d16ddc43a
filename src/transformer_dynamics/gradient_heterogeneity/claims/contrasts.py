"""What a claim says of every single seed.

Conditions of a seed share the head's start, samples and batches, so that differences are taken by
seed.
"""

import pandas as pd

from replication.base.errors import UnmeasurableError


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
