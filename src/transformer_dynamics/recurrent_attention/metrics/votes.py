"""Predictions from many draws of the initial noise, one of which is chosen."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    SPLIT,
    Boards,
    BoardTensors,
    initial_conditions,
    run_parameters,
    select_boards,
    trajectory,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Votes
from transformer_dynamics.recurrent_attention.settings.models import Network
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import pseudo_energy
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    drive,
    effective_weights,
)
from transformer_dynamics.recurrent_attention.training.network import readout_logits


class Ballots(NamedTuple):
    """Predictions and energies of every draw of the noise."""

    digits: Tensor
    """Predicted digits 1..n [draw, seed, board, S]."""
    energies: Tensor
    """Sum of the pseudo-energy over t = 0..T-1 [draw, seed, board]."""
    last: Tensor
    """Pseudo-energy at t = T - 1 [draw, seed, board]."""


def measure(job: MetricJob[Votes], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return the accuracy of every seed by every rule.

    Columns: seed, rule (see `solved_by_rule`) and solved, the share of boards whose blanks are all
    right, in [0, 1].
    """
    (boards,) = data
    shown = select_boards(boards, SPLIT, job.settings.boards)
    tables = []
    for run in runs:
        ballots = cast_ballots(job, run_parameters(run, place=job.device), shown)
        for rule, right in solved_by_rule(ballots, shown).items():
            solved = right.double().mean(dim=-1).tolist()
            tables.append(pd.DataFrame({"seed": run.seeds, "rule": rule, "solved": solved}))
    return pd.concat(tables, ignore_index=True)


def cast_ballots(job: MetricJob[Votes], parameters: Parameters, shown: BoardTensors) -> Ballots:
    """Return the prediction and the energies of every draw of the noise."""
    model, settings = job.train.model, job.settings
    found = (
        _cast_one_draw(model, parameters, shown, draw, settings.loops)
        for draw in range(settings.draws)
    )
    return Ballots(*(torch.stack(parts) for parts in zip(*found, strict=True)))


@torch.no_grad()
def _cast_one_draw(
    model: Network, parameters: Parameters, shown: BoardTensors, draw: int, loops: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return digits [seed, board, S], and energies [seed, board], summed and last."""
    weights = effective_weights(model, parameters)
    inputs, start = initial_conditions(model, parameters, shown, draw=draw)
    along = trajectory(model, parameters, weights, start, inputs)
    energies = [
        pseudo_energy(tokens, drive(model, weights, tokens, inputs))
        for tokens in islice(along, loops)
    ]
    predicted = readout_logits(parameters, next(along)).argmax(dim=-1) + 1
    found = predicted, torch.stack(energies).sum(dim=0), energies[-1]
    return found[0].cpu(), found[1].cpu(), found[2].cpu()


def solved_by_rule(ballots: Ballots, shown: BoardTensors) -> dict[str, Tensor]:
    """Return true where a board is solved [seed, board], by rule; `single` is a share.

    * single: share of draws that solve the board, that is, of one draw on average;
    * majority: every cell has the digit of most draws, the smallest of several;
    * energy: the draw with the least sum of energies;
    * last energy: the draw with the least energy at the end;
    * any: true if any draw solves the board, which no choice among draws can exceed.
    """
    right = ((ballots.digits == shown.solutions) | ~shown.blank).all(dim=-1)
    most, _ = ballots.digits.mode(dim=0)
    return {
        "single": right.double().mean(dim=0),
        "majority": ((most == shown.solutions) | ~shown.blank).all(dim=-1),
        "energy": _select_least_energy(right, ballots.energies),
        "last energy": _select_least_energy(right, ballots.last),
        "any": right.any(dim=0),
    }


def _select_least_energy(right: Tensor, energies: Tensor) -> Tensor:
    """Return whether the draw of least energy is right [seed, board]; of equal ones the first."""
    return right.gather(0, energies.argmin(dim=0, keepdim=True)).squeeze(0)
