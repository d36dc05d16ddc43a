"""AKOrN's pseudo-energy, and how far the Jacobian of attention explains it (6.3, B.5.5).

One number per seed: values are means over boards first, and contrasts along t after that.
"""

from math import sqrt

import numpy as np
import pandas as pd
import torch

from replication.base.errors import UnmeasurableError
from replication.base.random_streams import generator
from replication.study.contract import Measured
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.attention import Weights, probabilities
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, PseudoEnergy
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    mixing,
)
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import (
    along_tokens,
    frozen_jacobian,
)

Found = Measured[MeasureJob[PseudoEnergy]]
SIZES = ((1, 4, 1), (5, 4, 1), (5, 6, 2), (9, 16, 4))
"""S, D and H of the drawn cases."""


def change_of_energy(measured: Found) -> pd.DataFrame:
    """E_pseudo at the last t minus that at t = 0, over |E_pseudo(0)|."""
    return _evidence(_relative_change(measured))


def falling_steps(measured: Found) -> pd.DataFrame:
    """Share of iterations in which E_pseudo of a board falls."""
    return _evidence(_falling(measured))


def further_after_training(untrained: Found, trained: Found) -> pd.DataFrame:
    """`change_of_energy` before the first update minus that after training."""
    return _evidence(_relative_change(untrained) - _relative_change(trained))


def more_falling_after_training(untrained: Found, trained: Found) -> pd.DataFrame:
    """`falling_steps` after training minus that before the first update."""
    return _evidence(_falling(trained) - _falling(untrained))


def least_cosine(measured: Found) -> pd.DataFrame:
    """Least cosine of vec MSA and J vec X over all t."""
    return _evidence(_curves(measured, "cosine").min())


def rise_of_contribution(measured: Found) -> pd.DataFrame:
    """Contribution with the exact J at the last t minus that at t = 0."""
    curves = _curves(measured, "contribution")
    return _evidence(curves.iloc[-1] - curves.iloc[0])


def final_contribution(measured: Found) -> pd.DataFrame:
    """Contribution with the exact J at the last t."""
    return _evidence(_curves(measured, "contribution").iloc[-1])


def largest_fall(measured: Found) -> pd.DataFrame:
    """Largest fall of the contribution with the exact J in one iteration; 0 if it never falls."""
    steps = _curves(measured, "contribution").diff().iloc[1:]
    return _evidence((-steps.min()).clip(lower=0))


def error_of_initial_attention(measured: Found) -> pd.DataFrame:
    """Largest distance over all t of the contributions with (94) and with the exact J."""
    error = _curves(measured, "contribution_P0") - _curves(measured, "contribution")
    return _evidence(error.abs().max())


def final_ratio(measured: Found) -> pd.DataFrame:
    """Contribution with (94) over that with the exact J, at the last t."""
    ratio = _curves(measured, "contribution_P0") / _curves(measured, "contribution")
    return _evidence(ratio.iloc[-1])


def change_of_form(measured: Found) -> pd.DataFrame:
    """The quadratic form (95) at the last t minus that at t = 0, over |E_pseudo(0)|."""
    means = measured.table.groupby(["seed", "t"])[["quadratic_form", "pseudo_energy"]].mean()
    form, energy = (means[name].unstack("t") for name in means)
    return _evidence((form.iloc[:, -1] - form.iloc[:, 0]) / energy.iloc[:, 0].abs())


def form_over_energy(measured: Found) -> pd.DataFrame:
    """The quadratic form (95) over E_pseudo, at the last t."""
    ratio = _curves(measured, "quadratic_form") / _curves(measured, "pseudo_energy")
    return _evidence(ratio.iloc[-1])


@evidence
def identities() -> Cases:
    """Largest deviations, over |vec MSA|, of what J and (93) do to vec X, for drawn weights.

    That of J vec X from vec MSA + 2 d vec MSA/d log beta, and that of (93) vec X from vec MSA.
    """
    for number, width, heads in SIZES:
        random = generator(number * width * heads, "weights and tokens")
        drawn = (random.standard_normal((width, width)) for _ in range(4))
        weights = Weights(*(torch.from_numpy(each) for each in drawn))
        tokens = torch.from_numpy(random.standard_normal((number, width)))
        beta = 1 / sqrt(width / heads)
        attended, right = along_tokens(tokens, weights, heads, beta)
        exact = attention_jacobian(tokens, weights, heads, beta)
        shares = probabilities(tokens, weights, heads, beta)
        still = frozen_jacobian(shares, mixing(weights, heads))
        name = f"S = {number}, D = {width}, H = {heads}"
        for what, matrix, expected in (("J", exact, right), ("(93)", still, attended)):
            found = (matrix @ tokens.flatten()).reshape(tokens.shape)
            yield f"{name}: {what}", (found - expected).norm() / attended.norm()


def _relative_change(measured: Found) -> "pd.Series[float]":
    energy = _curves(measured, "pseudo_energy")
    start = energy.iloc[0]
    return (energy.iloc[-1] - start) / start.abs()


def _falling(measured: Found) -> "pd.Series[float]":
    table = measured.table
    by_board = table.pivot(index=["seed", "board"], columns="t", values="pseudo_energy")
    if by_board.shape[1] < 2:
        raise UnmeasurableError("steps need two iterations or more")
    falls = by_board.diff(axis=1).iloc[:, 1:] < 0
    return falls.mean(axis=1).groupby("seed").mean()


def _curves(measured: Found, column: str) -> pd.DataFrame:
    """Mean over boards, a row per t (ascending) and a column per seed."""
    table = measured.table
    curves = table.pivot_table(index="t", columns="seed", values=column)
    if len(curves) < 2:
        raise UnmeasurableError(f"{column}: it needs boards with two iterations or more")
    return curves


def _evidence(values: pd.Series) -> pd.DataFrame:
    return pd.DataFrame(
        {"cell": "all boards", "seed": values.index, "value": values.to_numpy(np.float64)}
    )
