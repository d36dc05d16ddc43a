"""The pseudo-energy along the iterations, and how far the Jacobian of attention explains it."""

from collections.abc import Iterable, Iterator, Sequence
from math import nan

import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.attention import probabilities
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, PseudoEnergy
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    Puzzles,
    beginning,
    of_seed,
    parameters_of,
    puzzles,
    states,
)
from transformer_dynamics.recurrent_attention.models import Parameters, effective_weights
from transformer_dynamics.recurrent_attention.theory import pseudo_energy as theory
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    inverse_temperature,
    mixing,
)

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
    job: MeasureJob[PseudoEnergy], parameters: Parameters, shown: Puzzles
) -> Iterator[dict[str, float]]:
    """One row per iteration and board."""
    model, how = job.train.model, job.how
    weights, beta = effective_weights(model, parameters), inverse_temperature(model)
    mixed = mixing(weights, model.heads)
    inputs, start = beginning(model, parameters, shown)
    first = probabilities(start, weights, model.heads, beta)
    # What does not change along the iterations has one eigenbasis per board.
    bases = [
        theory.leading(theory.frozen_jacobian(shares, mixed), how.share)
        for shares in first[: how.eigenbases]
    ]
    along = states(model, parameters, weights, start, inputs)
    for t, tokens in zip(range(how.steps), along, strict=False):
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
                exact = attention_jacobian(own, weights, model.heads, beta)
                now = theory.frozen_jacobian(shares[board], mixed)
                spans = *(theory.leading(each, how.share) for each in (exact, now)), bases[board]
                found = (theory.contribution(own, basis) for basis in spans)
                contributions = dict(zip(CONTRIBUTIONS, found, strict=True))
            yield {"board": board, "t": t, **row, **contributions}
