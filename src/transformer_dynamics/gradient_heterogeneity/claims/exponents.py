"""What coordinates of both directions do to SGD and to signs, at exponents q of -1, 0, 1 and 2.

Ends are losses of the fixed slice of the training set in units of chance, as in
`claims.optimisers`.
"""

import numpy as np
import pandas as pd

from replication.cases import by_seed
from replication.study import Measured
from transformer_dynamics.gradient_heterogeneity.claims.contrasts import of_seeds
from transformer_dynamics.gradient_heterogeneity.measure_settings import MeasureJob

Of = Measured[MeasureJob]
"""The metric `endpoint` of an experiment."""
CHANCE = 1.0
"""Loss over ln C of a run that was lost."""


def signs_at_twice_the_exponent(again: Of) -> pd.DataFrame:
    """What q = 1 adds to SGD's loss minus what q = 2 adds to SignSGD's."""
    sgd, signs = (_added(again, name, q) for name, q in (("sgd", 1), ("signsgd", 2)))
    return by_seed({"SGD at q = 1 minus SignSGD at q = 2": sgd - signs})


def gain_of_equal_densities(again: Of) -> pd.DataFrame:
    """What q = -1 takes from SGD's loss."""
    return by_seed({"SGD": -_added(again, "sgd", -1)})


def sensitivity_to_equal_densities(again: Of) -> pd.DataFrame:
    """What q = -1 takes from SGD's loss minus what it takes from SignSGD's."""
    sgd, signs = (-_added(again, name, -1) for name in ("sgd", "signsgd"))
    return by_seed({"SGD minus SignSGD": sgd - signs})


def _added(again: Of, optimiser: str, exponent: float) -> "pd.Series[float]":
    """Loss in the end at an exponent minus that at 0, by seed."""
    rows = again.table[again.table["is_last"] & (again.table["optimiser"] == optimiser)]
    rows = rows.assign(value=(rows["endpoint"] / np.log(rows["classes"])).fillna(CHANCE))
    at, usual = (
        of_seeds(rows[rows["exponent"] == q], "value", f"{optimiser} at q = {q:g}")
        for q in (exponent, 0)
    )
    return at - usual
