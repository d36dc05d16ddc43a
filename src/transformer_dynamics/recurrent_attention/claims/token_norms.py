"""How the norm of attention's Jacobian depends on the number of tokens (Figure 1)."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.token_norms_settings import MeasureTokenNormsJob

Norms = Measured[MeasureTokenNormsJob]
WITHOUT, *WITH = "SA(X)", "SA(Norm(X))", "Norm(SA(X))", "Norm(X + SA(X))"


def growth_with_normalised_tokens(norms: Norms) -> pd.DataFrame:
    """Slope of ln|J|_2 over ln S where tokens are normalised before the attention."""
    return _slopes(norms, "SA(Norm(X))")


def growth_with_normalised_output(norms: Norms) -> pd.DataFrame:
    """The same where the attention's output is normalised."""
    return _slopes(norms, "Norm(SA(X))")


def growth_with_normalised_sum(norms: Norms) -> pd.DataFrame:
    """The same where the sum of tokens and output is normalised."""
    return _slopes(norms, "Norm(X + SA(X))")


def growth_without(norms: Norms) -> pd.DataFrame:
    """The same without normalisation."""
    return _slopes(norms, WITHOUT)


def reduction(norms: Norms) -> pd.DataFrame:
    """Logarithm of the norm with over that without normalisation, mean over S, in every reading."""
    logs = norms.table.assign(value=np.log(norms.table["norm"]))
    keys = ["initialisation", "heads", "seed"]
    means = logs.groupby(["reading", *keys])["value"].mean()
    changes = [
        (means[reading] - means[WITHOUT]).reset_index().assign(reading=reading) for reading in WITH
    ]
    return _named(pd.concat(changes, ignore_index=True), "reading")


def _slopes(norms: Norms, reading: str) -> pd.DataFrame:
    """A row per initialisation, number of heads and draw: the line of least squares.

    Raises:
        UnmeasurableError: if texts have one length.
    """
    rows = norms.table[norms.table["reading"] == reading]
    if rows["tokens"].nunique() < 2:
        raise UnmeasurableError("texts of one length have no slope: give two numbers of tokens")
    wide = rows.pivot(index=["initialisation", "heads", "seed"], columns="tokens", values="norm")
    slopes = np.polyfit(np.log(wide.columns.to_numpy(np.float64)), np.log(wide.to_numpy()).T, 1)[0]
    return _named(pd.Series(slopes, wide.index, name="value").reset_index())


def _named(table: pd.DataFrame, *first: str) -> pd.DataFrame:
    """Columns cell, such as `xavier, H = 8`, seed, value."""
    cells = [
        ", ".join([*(str(getattr(row, name)) for name in first), f"{row.initialisation}",
                   f"H = {row.heads}"])
        for row in table.itertuples()
    ]  # fmt: skip
    return table.assign(cell=cells)[["cell", "seed", "value"]]
