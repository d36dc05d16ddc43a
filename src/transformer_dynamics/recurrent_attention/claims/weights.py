"""Norms, symmetries and losses of trained models, and norms that the paper prints."""

import pandas as pd

from replication.study import contract as study
from replication.study.evidence import Cases, evidence, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import condition_name, in_pairs
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob

WeightsOf = study.Measured[WeightsJob]
"""The metric `weights` of a condition."""


@evidence
def norm_above_largest_entry(printed: pd.DataFrame) -> Cases:
    """Return |gamma|_2 minus max_j |gamma_j|, as printed in Table S.3."""
    rows = printed[["N", "gamma_norm", "gamma_max"]].to_numpy(float).tolist()
    for size, norm, largest in rows:
        yield f"N={size:g}", norm - largest


def nearer_to_one(*pairs: WeightsOf) -> pd.DataFrame:
    """Return |sigma - 1| without a penalty minus that with it, mean over W^Q, W^K, W^V and W^O.

    Args:
        pairs: a condition without and one with it, and others so.
    """
    return seed_rows(
        (condition_name(free.job.train), _distance_from_one(free) - _distance_from_one(held))
        for free, held in in_pairs(pairs)
    )


def _distance_from_one(measured: WeightsOf) -> "pd.Series[float]":
    norms = measured.table.set_index("seed").filter(like="sigma_")
    return (norms - 1).abs().mean(axis=1)
