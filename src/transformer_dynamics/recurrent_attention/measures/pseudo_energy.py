"""The pseudo-energy along the iterations, and how far the Jacobian of attention explains it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan, sqrt

import pandas as pd
import torch
from torch import Tensor

from replication.study import Run
from transformer_dynamics.recurrent_attention.attention import probabilities
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, PseudoEnergy
from transformer_dynamics.recurrent_attention.measures.trained import (
    Boards,
    Puzzles,
    initial_noise,
    of_seed,
    parameters_of,
    puzzles,
)
from transformer_dynamics.recurrent_attention.models import (
    advance,
    effective_weights,
    embedded,
    initial_tokens,
)
from transformer_dynamics.recurrent_attention.theory import pseudo_energy as theory
from transformer_dynamics.recurrent_attention.theory.jacobian import attention_jacobian

SPLIT = "test_out"
"""Boards out of distribution, which take all iterations."""
CONTRIBUTIONS = ("contribution", "contribution_P", "contribution_P0")
"""Columns of contributions: with the exact J, with (93), with (94)."""


def measure(
    job: MeasureJob[PseudoEnergy], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Energy, cosine and contributions of every seed, board and iteration, in float64.

    Args:
        job: the condition, and how many boards and iterations.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, board, t = 0, 1, ..., cosine (of vec MSA and J vec X), contribution,
        contribution_P and contribution_P0 (shares of |vec X|^2 in the leading directions of
        J + J^T, where J is exact, (93) or (94)), pseudo_energy (-Tr(X^T Y)) and quadratic_form
        (95). Contributions are missing on boards without eigenbases.
    """
    (boards,) = data
    shown = puzzles(boards, SPLIT, job.how.boards)
    tables = []
    for run in runs:
        parameters = parameters_of(run, torch.float64)
        for index, seed in enumerate(run.seeds):
            rows = pd.DataFrame(_rows(job, of_seed(parameters, index), shown))
            rows.insert(0, "seed", seed)
            tables.append(rows)
    return pd.concat(tables, ignore_index=True)


@torch.no_grad()
def _rows(
    job: MeasureJob[PseudoEnergy], parameters: Mapping[str, Tensor], shown: Puzzles
) -> Iterator[dict[str, float]]:
    """One row per iteration and board."""
    model, how = job.train.model, job.how
    weights, beta = effective_weights(model, parameters), 1 / sqrt(model.width / model.heads)
    mixed = theory.mixing(weights, model.heads)
    noise = initial_noise(SPLIT, 0, shown, model.width).double()
    inputs = embedded(parameters, shown.digits)
    tokens = initial_tokens(model, parameters, inputs, shown.blank, noise)
    first = probabilities(tokens, weights, model.heads, beta)
    # What does not change along the iterations has one eigenbasis per board.
    bases = [
        theory.leading(theory.frozen_jacobian(shares, mixed), how.share)
        for shares in first[: how.eigenbases]
    ]
    for t in range(how.steps):
        shares = probabilities(tokens, weights, model.heads, beta)
        attended, moved = theory.along_tokens(tokens, weights, model.heads, beta)
        columns = {
            "cosine": theory.cosine(attended, moved).tolist(),
            "pseudo_energy": theory.pseudo_energy(tokens, inputs + attended).tolist(),
            "quadratic_form": theory.pseudo_energy(
                tokens, theory.frozen(tokens, first, mixed)
            ).tolist(),
        }
        for board, own in enumerate(tokens):
            row = {name: values[board] for name, values in columns.items()}
            contributions = dict.fromkeys(CONTRIBUTIONS, nan)
            # One board at a time: the matrices of all of them would not fit for larger boards.
            if board < how.eigenbases:
                exact = attention_jacobian(own, weights._asdict(), model.heads)
                now = theory.frozen_jacobian(shares[board], mixed)
                spans = *(theory.leading(each, how.share) for each in (exact, now)), bases[board]
                found = (theory.contribution(own, basis) for basis in spans)
                contributions = dict(zip(CONTRIBUTIONS, found, strict=True))
            yield {"board": board, "t": t, **row, **contributions}
        tokens = advance(model, parameters, weights, tokens, inputs)
