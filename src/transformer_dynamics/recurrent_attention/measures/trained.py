"""Trained models as they were kept, and boards as models take them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.model_settings import Model, WholeModel
from transformer_dynamics.recurrent_attention.models import (
    Parameters,
    advance,
    embedded,
    initial_tokens,
)

Boards = Mapping[str, NDArray[Any]]
NOT_PARAMETERS = ("losses",)
"""Arrays of a run that are no parameters."""
SPLIT = "test_out"
"""Boards out of distribution, those of most metrics."""


class Puzzles(NamedTuple):
    """Some boards of a split."""

    digits: Tensor
    """Givens, 0 on blanks [board, S]."""
    solutions: Tensor
    """[board, S]."""

    @property
    def blank(self) -> Tensor:
        """Where no digit is given [board, S]."""
        return self.digits == 0


def parameters_of(run: Run, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """The parameters of all seeds of a run by name, the seed first."""
    return {
        name: torch.from_numpy(np.array(value)).to(dtype)
        for name, value in run.arrays.items()
        if name not in NOT_PARAMETERS
    }


def of_seed(parameters: Mapping[str, Tensor], index: int) -> dict[str, Tensor]:
    """Those of one seed, without its axis."""
    return {name: tensor[index] for name, tensor in parameters.items()}


def puzzles(boards: Boards, split: str, count: int | None = None) -> Puzzles:
    """The first boards of a split, or all of them."""
    solutions = torch.from_numpy(boards[f"{split}_solutions"][:count].astype(np.int64))
    given = torch.from_numpy(boards[f"{split}_given"][:count])
    return Puzzles(torch.where(given, solutions, 0), solutions)


def initial_noise(split: str, draw: int, boards: Puzzles, model: WholeModel) -> Tensor:
    """What blanks begin with [board, S, D], float32: normal, and no other for more boards."""
    shape = *boards.digits.shape, model.width
    drawn = generator(draw, f"noise of {split}").standard_normal(shape, np.float32)
    return torch.from_numpy(np.float32(model.noise) * drawn)


def beginning(
    model: WholeModel,
    parameters: Parameters,
    shown: Puzzles,
    split: str = SPLIT,
    draw: int = 0,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """C and X_0 [..., board, S, D].

    Args:
        model: which model.
        parameters: of one seed, or of all, the seed first, which then see the same boards.
        shown: the boards.
        split: theirs.
        draw: of the noise.
        factor: of C.
    """
    digits = shown.digits.expand(*parameters["eta"].shape, -1, -1)
    noise = initial_noise(split, draw, shown, model).to(parameters["eta"].dtype)
    inputs = factor * embedded(parameters, digits)
    return inputs, initial_tokens(model, parameters, inputs, digits == 0, noise)


def states(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Iterator[Tensor]:
    """X_0, X_1, ..., without an end.

    Args:
        model: which model.
        parameters: of one seed, or of all.
        weights: of attention.
        tokens: X_0 [..., board, S, D].
        inputs: C, of the same shape.
    """
    while True:
        yield tokens
        tokens = advance(model, parameters, weights, tokens, inputs)


def solved(logits: Tensor, boards: Puzzles) -> tuple[Tensor, Tensor]:
    """Of every seed the share of boards all of whose blanks are right, and of right blanks.

    Args:
        logits: [seed, board, S, digits]; where they are not finite, they predict nothing.
        boards: the boards.

    Returns:
        [seed] both.
    """
    is_right = (logits.argmax(dim=-1) + 1 == boards.solutions) & logits.isfinite().all(dim=-1)
    whole = (is_right | ~boards.blank).all(dim=-1).double().mean(dim=-1)
    return whole, (is_right & boards.blank).sum(dim=(1, 2)) / boards.blank.sum()
