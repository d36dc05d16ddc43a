"""Votes: does a low pseudo-energy tell right predictions from wrong ones (6.3)?

One number per seed: the share of boards solved by one rule minus that by another.
"""

import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.claims.seed_values import join_seeds
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Votes

VotesOf = Measured[MetricJob[Votes]]


def joined(*measured: VotesOf) -> pd.DataFrame:
    """Return the boards solved by every rule, of conditions that differ in their seeds alone."""
    whole = join_seeds(measured)
    if whole.job.settings.draws < 2:
        raise UnmeasurableError("a vote needs two draws or more")
    return whole.table
