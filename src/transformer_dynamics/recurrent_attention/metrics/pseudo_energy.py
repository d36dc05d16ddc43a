"""The pseudo-energy along the iterations, and how far the Jacobian of attention explains it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import nan

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    seed_starts,
    trajectory,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, PseudoEnergy
from transformer_dynamics.recurrent_attention.settings.models import MOST_ROWS
from transformer_dynamics.recurrent_attention.theory import pseudo_energy as theory
from transformer_dynamics.recurrent_attention.theory.attention import (
    Weights,
    attention,
    attention_probabilities,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    value_output_matrices,
)
from transformer_dynamics.recurrent_attention.theory.products import Products, leading_directions
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    effective_weights,
    inverse_temperature,
)

CONTRIBUTIONS = ("contribution", "contribution_P", "contribution_P0")
"""Columns of contributions: with the exact J, with (93), with (94)."""


def measure(
    job: MetricJob[PseudoEnergy], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Return energy, cosine and contributions of every seed, board and iteration, in float64.

    Columns: seed, board, t = 0, 1, ..., cosine (of vec MSA and J vec X), contribution,
    contribution_P and contribution_P0 (shares of |vec X|^2 in the leading directions of J + J^T,
    where J is exact, (93) or (94)), pseudo_energy (-Tr(X^T Y)) and quadratic_form (95).
    Contributions are missing on boards without eigenbases.
    """
    tables = []
    for seed, own, inputs, start in seed_starts(job, runs, data):
        rows = pd.DataFrame(_rows(job, own, inputs, start))
        rows.insert(0, "seed", seed)
        tables.append(rows)
    return pd.concat(tables, ignore_index=True)


@torch.no_grad()
def _rows(
    job: MetricJob[PseudoEnergy], parameters: Parameters, inputs: Tensor, start: Tensor
) -> Iterator[dict[str, float]]:
    """Yield a row per iteration and board."""
    model, settings = job.train.model, job.settings
    weights, beta = effective_weights(model, parameters), inverse_temperature(model)
    mixed = value_output_matrices(weights, model.heads)
    first = attention_probabilities(start, weights, model.heads, beta)
    # What does not change along the iterations has one eigenbasis per board.
    bases = [
        _frozen_directions(at, shares, mixed, settings.share)
        for at, shares in zip(start[: settings.eigenbases], first, strict=False)
    ]
    along = trajectory(model, parameters, weights, start, inputs)
    for t, tokens in zip(range(settings.steps), along, strict=False):
        shares = attention_probabilities(tokens, weights, model.heads, beta)
        attended, moved = theory.jacobian_along_tokens(tokens, weights, model.heads, beta)
        columns = {
            "cosine": theory.cosine_similarity(attended, moved).tolist(),
            "pseudo_energy": theory.pseudo_energy(tokens, inputs + attended).tolist(),
            "quadratic_form": theory.pseudo_energy(
                tokens, theory.frozen_attention(tokens, first, mixed)
            ).tolist(),
        }
        for board, own in enumerate(tokens):
            row = {name: values[board] for name, values in columns.items()}
            contributions = dict.fromkeys(CONTRIBUTIONS, nan)
            # One board at a time: the matrices of all of them would not fit for larger boards.
            if board < settings.eigenbases:
                spans = (
                    _attention_directions(own, weights, model.heads, beta, settings.share),
                    _frozen_directions(own, shares[board], mixed, settings.share),
                    bases[board],
                )
                found = (theory.contribution(own, basis) for basis in spans)
                contributions = dict(zip(CONTRIBUTIONS, found, strict=True))
            yield {"board": board, "t": t, **row, **contributions}


def _attention_directions(
    tokens: Tensor, weights: Weights, heads: int, beta: float, share: float
) -> Tensor:
    """Return the leading directions of the Jacobian of attention."""
    if tokens.numel() > MOST_ROWS:
        attend = partial(attention, weights=weights, heads=heads, beta=beta)
        return leading_directions(Products.of(attend, tokens), share)
    return theory.leading_directions(attention_jacobian(tokens, weights, heads, beta), share)


def _frozen_directions(tokens: Tensor, shares: Tensor, mixed: Tensor, share: float) -> Tensor:
    """Return the leading directions of the Jacobian of attention whose P_h stays."""
    if tokens.numel() > MOST_ROWS:
        attend = partial(theory.frozen_attention, shares=shares, mixed=mixed)
        return leading_directions(Products.of(attend, tokens), share)
    return theory.leading_directions(theory.frozen_jacobian(shares, mixed), share)
