"""Norms, symmetries and losses of trained models, and norms that the paper prints."""

from math import log

import pandas as pd

from replication.study import contract as study
from replication.study.evidence import Cases, evidence, evidence_by_seed, seed_rows
from transformer_dynamics.recurrent_attention.claims.seed_values import condition_name, in_pairs
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob

WeightsOf = study.Measured[WeightsJob]
"""The metric `weights` of a condition."""


def largest_gamma(*by_size: WeightsOf) -> pd.DataFrame:
    """Return max_j |gamma_j| by N.

    Args:
        by_size: a condition per N.
    """
    return evidence_by_seed(
        {f"N={each.job.train.model.block}": _column(each, "gamma_max") for each in by_size}
    )


def asymmetry_left_to_heads(*measured: WeightsOf) -> pd.DataFrame:
    """Return the relative asymmetry of the heads' W^V_h W^O_h minus that of their sum W^V W^O."""
    return evidence_by_seed(
        {
            condition_name(each.job.train): _column(each, "asymmetry_of_heads")
            - _column(each, "asymmetry")
            for each in measured
        }
    )


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


def remaining_loss(trained: WeightsOf) -> pd.DataFrame:
    """Return the training loss of the last updates over that of guessing, ln(number of digits).

    Args:
        trained: the metric `fingerprint` of a condition.
    """
    model = condition_name(trained.job.train)
    return evidence_by_seed(
        {model: _column(trained, "loss") / log(trained.job.train.boards.digits)}
    )


@evidence
def norm_above_largest_entry(printed: pd.DataFrame) -> Cases:
    """Return |gamma|_2 minus max_j |gamma_j|, as printed in Table S.3."""
    rows = printed[["N", "gamma_norm", "gamma_max"]].to_numpy(float).tolist()
    for size, norm, largest in rows:
        yield f"N={size:g}", norm - largest


def _column(measured: WeightsOf, name: str) -> pd.Series:
    return measured.table.set_index("seed")[name]
