"""Predictions from many draws of the initial noise, one of which is chosen."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Votes
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    Puzzles,
    beginning,
    parameters_of,
    puzzles,
    states,
)
from transformer_dynamics.recurrent_attention.model_settings import WholeModel
from transformer_dynamics.recurrent_attention.models import (
    Parameters,
    drive,
    effective_weights,
    readout,
)
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import pseudo_energy


class Ballots(NamedTuple):
    """What every draw of the noise leads to."""

    digits: Tensor
    """Predicted digits 1..n [draw, seed, board, S]."""
    energies: Tensor
    """Sum of the pseudo-energy over t = 0..T-1 [draw, seed, board]."""
    last: Tensor
    """Pseudo-energy at t = T - 1 [draw, seed, board]."""


def measure(job: MeasureJob[Votes], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Accuracy of every seed by every rule.

    Args:
        job: the condition, how many draws and boards, and T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, rule (see `outcomes`) and solved, the share of boards whose blanks are all
        right, in [0, 1].
    """
    (boards,) = data
    shown = puzzles(boards, SPLIT, job.how.boards)
    tables = []
    for run in runs:
        ballots = cast(job, parameters_of(run), shown)
        for rule, right in outcomes(ballots, shown).items():
            solved = right.double().mean(dim=-1).tolist()
            tables.append(pd.DataFrame({"seed": run.seeds, "rule": rule, "solved": solved}))
    return pd.concat(tables, ignore_index=True)


def cast(job: MeasureJob[Votes], parameters: Parameters, shown: Puzzles) -> Ballots:
    """Let every draw of the noise lead to a prediction."""
    model, how = job.train.model, job.how
    found = (_draw(model, parameters, shown, draw, how.loops) for draw in range(how.draws))
    return Ballots(*(torch.stack(parts) for parts in zip(*found, strict=True)))


@torch.no_grad()
def _draw(
    model: WholeModel, parameters: Parameters, shown: Puzzles, draw: int, loops: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Digits [seed, board, S], and energies [seed, board], summed and last."""
    weights = effective_weights(model, parameters)
    inputs, start = beginning(model, parameters, shown, draw=draw)
    along = states(model, parameters, weights, start, inputs)
    energies = [
        pseudo_energy(tokens, drive(model, weights, tokens, inputs))
        for tokens in islice(along, loops)
    ]
    predicted = readout(parameters, next(along)).argmax(dim=-1) + 1
    return predicted, torch.stack(energies).sum(dim=0), energies[-1]


def outcomes(ballots: Ballots, shown: Puzzles) -> dict[str, Tensor]:
    """Which boards are solved [seed, board], by rule; of `single` and `any` see below.

    * single: the share of draws that solve the board, what one draw does on average;
    * majority: every cell has the digit of most draws, the smallest of several;
    * energy: the draw with the least sum of energies;
    * last energy: the draw with the least energy at the end;
    * any: whether any draw solves the board, which no choice among draws can exceed.
    """
    right = ((ballots.digits == shown.solutions) | ~shown.blank).all(dim=-1)
    most, _ = ballots.digits.mode(dim=0)
    return {
        "single": right.double().mean(dim=0),
        "majority": ((most == shown.solutions) | ~shown.blank).all(dim=-1),
        "energy": _chosen(right, ballots.energies),
        "last energy": _chosen(right, ballots.last),
        "any": right.any(dim=0),
    }


def _chosen(right: Tensor, energies: Tensor) -> Tensor:
    """Whether the draw of least energy is right [seed, board]; of equal ones the first."""
    return right.gather(0, energies.argmin(dim=0, keepdim=True)).squeeze(0)
