"""Growth of the norm of attention's Jacobian with the number of tokens (Figure 1)."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.settings.token_norms import TokenNormsMetricJob

Norms = Measured[TokenNormsMetricJob]
WITHOUT, *WITH = "SA(X)", "SA(Norm(X))", "Norm(SA(X))", "Norm(X + SA(X))"


def reduction(norms: Norms) -> pd.DataFrame:
    """Return the logarithm of the norm with normalisation over that without, mean over S."""
    logs = norms.table.assign(value=np.log(norms.table["norm"]))
    keys = ["initialisation", "heads", "seed"]
    means = logs.groupby(["reading", *keys])["value"].mean()
    changes = [
        (means[reading] - means[WITHOUT]).reset_index().assign(reading=reading) for reading in WITH
    ]
    return _name_cells(pd.concat(changes, ignore_index=True))


def growth(norms: Norms, *, reading: str) -> pd.DataFrame:
    """Return the slope of ln|J|_2 over ln S by initialisation, number of heads and draw.

    The reading says where tokens are normalised.

    Raises:
        UnmeasurableError: if texts have one length.
    """
    rows = norms.table[norms.table["reading"] == reading]
    if rows["tokens"].nunique() < 2:
        raise UnmeasurableError("texts of one length have no slope: give two numbers of tokens")
    wide = rows.pivot(index=["initialisation", "heads", "seed"], columns="tokens", values="norm")
    slopes = np.polyfit(np.log(wide.columns.to_numpy(np.float64)), np.log(wide.to_numpy()).T, 1)[0]
    return _name_cells(pd.Series(slopes, wide.index, name="value").reset_index())


def _name_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return columns cell, such as `xavier, H = 8`, seed and value; the reading is named first."""
    cell = table["initialisation"] + ", H = " + table["heads"].astype(str)
    named = table["reading"] + ", " + cell if "reading" in table else cell
    return table.assign(cell=named)[["cell", "seed", "value"]]
