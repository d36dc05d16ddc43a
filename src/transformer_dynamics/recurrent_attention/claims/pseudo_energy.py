"""AKOrN's pseudo-energy, and how far the Jacobian of attention explains it (6.3, B.5.5).

One number per seed: values are means over boards first, and contrasts along t after that. Measures
of several conditions take their seeds together, which are all different.
"""

from math import sqrt

import pandas as pd
import torch

from replication.base.errors import UnmeasurableError
from replication.base.random_streams import generator
from replication.study.contract import Measured
from replication.study.evidence import Cases, evidence, seed_rows
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, PseudoEnergy
from transformer_dynamics.recurrent_attention.theory.attention import (
    Weights,
    attention_probabilities,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    value_output_matrices,
)
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import (
    frozen_jacobian,
    jacobian_along_tokens,
)

PseudoEnergyOf = Measured[MetricJob[PseudoEnergy]]
SIZES = ((1, 4, 1), (5, 4, 1), (5, 6, 2), (9, 16, 4))
"""Sizes S, D and H of drawn cases."""


def falling_steps(*measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return the share of iterations in which E_pseudo of a board falls."""
    return _evidence(*map(_falling_share, measured))


def further_after_training(untrained: PseudoEnergyOf, trained: PseudoEnergyOf) -> pd.DataFrame:
    """Return `change_of_energy` before the first update minus that after training."""
    return _evidence(_relative_change(untrained) - _relative_change(trained))


def more_falling_after_training(untrained: PseudoEnergyOf, trained: PseudoEnergyOf) -> pd.DataFrame:
    """Return `falling_steps` after training minus that before the first update."""
    return _evidence(_falling_share(trained) - _falling_share(untrained))


def largest_fall(*measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return the largest fall of the contribution with the exact J in one iteration, or 0."""
    steps = (_mean_curves(each, "contribution").diff().iloc[1:] for each in measured)
    return _evidence(*((-each.min()).clip(lower=0) for each in steps))


def final_error(*measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return |a/b - 1| at the last t of the contributions a with (94) and b with the exact J."""
    ratios = (
        _mean_curves(each, "contribution_P0") / _mean_curves(each, "contribution")
        for each in measured
    )
    return _evidence(*((each.iloc[-1] - 1).abs() for each in ratios))


def change_of_form(*measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return the quadratic form (95) at the last t minus that at t = 0, over |E_pseudo(0)|."""
    curves = [
        [_mean_curves(each, name) for name in ("quadratic_form", "pseudo_energy")]
        for each in measured
    ]
    return _evidence(
        *((form.iloc[-1] - form.iloc[0]) / energy.iloc[0].abs() for form, energy in curves)
    )


@evidence
def identities() -> Cases:
    """Return the largest deviations of J vec X and (93) vec X from theory, over |vec MSA|.

    That of J vec X from vec MSA + 2 d vec MSA/d log beta, and that of (93) vec X from vec MSA.
    """
    for number, width, heads in SIZES:
        random = generator(number * width * heads, "weights and tokens")
        drawn = (random.standard_normal((width, width)) for _ in range(4))
        weights = Weights(*(torch.from_numpy(each) for each in drawn))
        tokens = torch.from_numpy(random.standard_normal((number, width)))
        beta = 1 / sqrt(width / heads)
        attended, right = jacobian_along_tokens(tokens, weights, heads, beta)
        exact = attention_jacobian(tokens, weights, heads, beta)
        shares = attention_probabilities(tokens, weights, heads, beta)
        still = frozen_jacobian(shares, value_output_matrices(weights, heads))
        name = f"S = {number}, D = {width}, H = {heads}"
        for what, matrix, expected in (("J", exact, right), ("(93)", still, attended)):
            found = (matrix @ tokens.flatten()).reshape(tokens.shape)
            yield f"{name}: {what}", (found - expected).norm() / attended.norm()


def _relative_change(measured: PseudoEnergyOf) -> "pd.Series[float]":
    energy = _mean_curves(measured, "pseudo_energy")
    start = energy.iloc[0]
    return (energy.iloc[-1] - start) / start.abs()


def _falling_share(measured: PseudoEnergyOf) -> "pd.Series[float]":
    table = measured.table
    by_board = table.pivot(index=["seed", "board"], columns="t", values="pseudo_energy")
    if by_board.shape[1] < 2:
        raise UnmeasurableError("steps need two iterations or more")
    falls = by_board.diff(axis=1).iloc[:, 1:] < 0
    return falls.mean(axis=1).groupby("seed").mean()


def _mean_curves(measured: PseudoEnergyOf, column: str) -> pd.DataFrame:
    """Return the mean over boards, a row per t (ascending) and a column per seed."""
    table = measured.table
    curves = table.pivot_table(index="t", columns="seed", values=column)
    if len(curves) < 2:
        raise UnmeasurableError(f"{column}: it needs boards with two iterations or more")
    return curves


def _evidence(*values: pd.Series) -> pd.DataFrame:
    return seed_rows(("all boards", each) for each in values)


def rise_of_contribution(*measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return the contribution with the exact J at the last t minus that at t = 0."""
    along = [_mean_curves(each, "contribution") for each in measured]
    return _evidence(*(curves.iloc[-1] - curves.iloc[0] for curves in along))


def final_contribution(measured: PseudoEnergyOf) -> pd.DataFrame:
    """Return the contribution with the exact J at the last t."""
    return _evidence(_mean_curves(measured, "contribution").iloc[-1])
