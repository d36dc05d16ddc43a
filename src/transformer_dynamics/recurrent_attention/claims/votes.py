"""Votes: does a low pseudo-energy tell right predictions from wrong ones (6.3)?

One number per seed: the share of boards solved by one rule minus that by another.
"""

from collections.abc import Sequence

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from replication.study.contrasts import difference
from transformer_dynamics.recurrent_attention.claims.seed_values import join_seeds
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Votes

VotesOf = Measured[MetricJob[Votes]]


def energy_over_single(*measured: VotesOf) -> pd.DataFrame:
    """Return the gain of the draw with the least sum of energies over single draws.

    Args:
        measured: the condition; several if they differ in their seeds alone.
    """
    return _gain(measured, "energy", "single")


def last_energy_over_single(*measured: VotesOf) -> pd.DataFrame:
    """Return the gain of the draw with the least energy at the end over single draws."""
    return _gain(measured, "last energy", "single")


def energy_over_majority(*measured: VotesOf) -> pd.DataFrame:
    """Return the gain of the draw with the least sum of energies over the majority of all draws."""
    return _gain(measured, "energy", "majority")


def _gain(measured: Sequence[VotesOf], rule: str, other: str) -> pd.DataFrame:
    joined = join_seeds(measured)
    if joined.job.settings.draws < 2:
        raise UnmeasurableError("a vote needs two draws or more")
    gain = difference(joined.table, "rule", "solved", of=rule, minus=other)
    return gain.assign(cell=f"{rule} against {other}")
