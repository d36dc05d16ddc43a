"""Trained models and boards as metrics take them: parameters, noise, trajectories."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.contract import Run
from replication.study.devices import device
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob
from transformer_dynamics.recurrent_attention.settings.models import Model, Network
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.recurrence import Parameters, next_tokens
from transformer_dynamics.recurrent_attention.training.network import embed_digits, initial_tokens

Boards = Mapping[str, NDArray[Any]]
NOT_PARAMETERS = ("losses",)
"""Arrays of a run that are no parameters."""
SPLIT = "test_out"
"""Boards out of distribution, those of most metrics."""


class BoardTensors(NamedTuple):
    """Givens, 0 on blanks, and solutions of boards of a split, both [board, S]."""

    digits: Tensor
    solutions: Tensor

    @property
    def blank(self) -> Tensor:
        """True where no digit is given [board, S]."""
        return self.digits == 0


def run_parameters(
    run: Run, dtype: torch.dtype = torch.float32, place: str = "cpu"
) -> dict[str, Tensor]:
    """Return the parameters of all seeds of a run by name, the seed first, on a device.

    Raise InputError if the device is not there.
    """
    there = device(place)
    return {
        name: torch.from_numpy(np.array(value)).to(there, dtype)
        for name, value in run.arrays.items()
        if name not in NOT_PARAMETERS
    }


def seed_parameters(
    runs: Iterable[Run], dtype: torch.dtype = torch.float64, place: str = "cpu"
) -> Iterator[tuple[int, dict[str, Tensor]]]:
    """Yield every seed of all runs with its parameters by name, without the axis of seeds."""
    for run in runs:
        parameters = run_parameters(run, dtype, place)
        for index, seed in enumerate(run.seeds):
            yield seed, {name: tensor[index] for name, tensor in parameters.items()}


def select_boards(boards: Boards, split: str, count: int | None = None) -> BoardTensors:
    """Return the first boards of a split, or all of them."""
    solutions = torch.from_numpy(boards[f"{split}_solutions"][:count].astype(np.int64))
    given = torch.from_numpy(boards[f"{split}_given"][:count])
    return BoardTensors(torch.where(given, solutions, 0), solutions)


def initial_noise(split: str, draw: int, boards: BoardTensors, model: Network) -> Tensor:
    """Draw normal noise of blanks [board, S, D], float32, which more boards do not change."""
    shape = *boards.digits.shape, model.width
    drawn = generator(draw, f"noise of {split}").standard_normal(shape, np.float32)
    return torch.from_numpy(np.float32(model.noise) * drawn)


def initial_conditions(
    model: Network,
    parameters: Parameters,
    shown: BoardTensors,
    split: str = SPLIT,
    draw: int = 0,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return C, multiplied by `factor`, and X_0 [..., board, S, D] of a draw of the noise.

    Parameters are of one seed, or of all, the seed first, which then see the same boards.
    """
    digits = shown.digits.to(parameters["eta"].device).expand(*parameters["eta"].shape, -1, -1)
    noise = initial_noise(split, draw, shown, model).to(parameters["eta"])
    inputs = factor * embed_digits(parameters, digits)
    return inputs, initial_tokens(model, parameters, inputs, digits == 0, noise)


def seed_starts(
    job: MetricJob[Any], runs: Iterable[Run], data: Sequence[Boards]
) -> Iterator[tuple[int, Parameters, Tensor, Tensor]]:
    """Yield every seed with its parameters, C and X_0 on the first boards, in float64."""
    (boards,) = data
    shown = select_boards(boards, SPLIT, job.settings.boards)
    for seed, own in seed_parameters(runs, place=job.device):
        yield seed, own, *initial_conditions(job.train.model, own, shown)


def trajectory(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Iterator[Tensor]:
    """Yield X_0, X_1, ... [..., board, S, D] without an end; inputs are C, of the same shape."""
    while True:
        yield tokens
        tokens = next_tokens(model, parameters, weights, tokens, inputs)


def solved_shares(logits: Tensor, boards: BoardTensors) -> tuple[Tensor, Tensor]:
    """Return the share of boards whose blanks are all right, and of right blanks [seed].

    Logits [seed, board, S, digits] that are not finite predict nothing.
    """
    logits = logits.cpu()
    is_right = (logits.argmax(dim=-1) + 1 == boards.solutions) & logits.isfinite().all(dim=-1)
    whole = (is_right | ~boards.blank).all(dim=-1).double().mean(dim=-1)
    return whole, (is_right & boards.blank).sum(dim=(1, 2)) / boards.blank.sum()
