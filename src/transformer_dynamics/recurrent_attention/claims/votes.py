"""Whether a low pseudo-energy tells right predictions from wrong ones (6.3).

One number per seed: the share of boards solved by one rule minus that by another.
"""

import pandas as pd

from replication.errors import UnmeasurableError
from replication.study import Measured
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Votes

Found = Measured[MeasureJob[Votes]]


def energy_over_single(measured: Found) -> pd.DataFrame:
    """The draw with the least sum of energies against single draws."""
    return _gain(measured, "energy", "single")


def last_energy_over_single(measured: Found) -> pd.DataFrame:
    """The draw with the least energy at the end against single draws."""
    return _gain(measured, "last energy", "single")


def energy_over_majority(measured: Found) -> pd.DataFrame:
    """The draw with the least sum of energies against the majority of all draws."""
    return _gain(measured, "energy", "majority")


def _gain(measured: Found, rule: str, other: str) -> pd.DataFrame:
    solved = measured.table.pivot(index="seed", columns="rule", values="solved")
    if measured.job.how.draws < 2:
        raise UnmeasurableError("a vote needs two draws or more")
    gain = solved[rule] - solved[other]
    cell = f"{rule} against {other}"
    return pd.DataFrame({"cell": cell, "seed": gain.index, "value": gain.to_numpy()})
