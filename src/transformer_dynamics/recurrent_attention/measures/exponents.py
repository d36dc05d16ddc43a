"""Finite-time Lyapunov exponents of trained models."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import floor, log, nan
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention import models
from transformer_dynamics.recurrent_attention.measure_settings import Exponents, MeasureJob
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    Puzzles,
    beginning,
    of_seed,
    parameters_of,
    puzzles,
)
from transformer_dynamics.recurrent_attention.model_settings import WholeModel
from transformer_dynamics.recurrent_attention.models import Parameters, effective_weights
from transformer_dynamics.recurrent_attention.theory.exponents import (
    leading_exponents,
    long_time_exponents,
    mean_exponent,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import Step, step

LARGEST_SINGLE = log(torch.finfo(torch.float32).max)
"""Logarithm of the largest number of float32."""


class Found(NamedTuple):
    """Exponents along one board."""

    max: float
    """The largest."""
    leading: float
    """Mean of the largest few."""
    nonnull: float
    """Mean of all that are not null."""
    finite: bool
    """Whether the trajectory and its Jacobians are numbers of float64."""
    float32_finite: bool
    """Whether its tokens and alpha_1 = s_1^2 (B.3) are within the range of float32."""


def measure(
    job: MeasureJob[Exponents], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Exponents of every seed and board, lambda_i = (1/T) ln s_i, in float64.

    s_i are the singular values of the product of the Jacobians of T steps, which begin at X_0.

    Args:
        job: the condition, how many boards, and T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, board, max, leading and nonnull (means of the largest `job.how.leading`, and
        of all that are not null), finite and float32_finite (whether those types can hold them),
        and long (the largest of `job.how.long` steps, by QR; NaN but for each seed's first board).
        Exponents that float64 cannot hold are NaN.
    """
    (boards,) = data
    model, rows = job.train.model, []
    shown = puzzles(boards, SPLIT, job.how.boards)
    for run in runs:
        parameters = parameters_of(run, torch.float64)
        long = long_time(model, parameters, Puzzles(*(part[:1] for part in shown)), job.how)
        for index, seed in enumerate(run.seeds):
            own = of_seed(parameters, index)
            inputs, start = beginning(model, own, shown)
            weights = effective_weights(model, own)
            for board in range(job.how.boards):
                at = partial(step, model, own, weights, inputs=inputs[board])
                found = finite_time(at, start[board], job.how.steps, job.how.leading)
                rows.append((seed, board, *found, long[index] if board == 0 else nan))
    return pd.DataFrame(rows, columns=["seed", "board", *Found._fields, "long"])


def finite_time(at: Callable[[Tensor], Step], start: Tensor, loops: int, leading: int) -> Found:
    """Exponents of T steps.

    Args:
        at: a step with its Jacobian.
        start: X_0 [S, D].
        loops: T.
        leading: how many of the largest are averaged.
    """
    steps = [at(start)]
    while len(steps) < loops and steps[-1].is_finite:
        steps.append(at(steps[-1].tokens))
    if not steps[-1].is_finite:
        return Found(nan, nan, nan, finite=False, float32_finite=False)
    largest = leading_exponents(steps, leading)
    highest = float(largest[0])
    in_single = 2 * loops * highest <= LARGEST_SINGLE and all(
        bool(torch.isfinite(each.tokens.float()).all()) for each in steps
    )
    return Found(highest, float(largest.mean()), float(mean_exponent(steps)), True, in_single)


@torch.no_grad()
def long_time(
    model: WholeModel, parameters: Parameters, shown: Puzzles, how: Exponents
) -> list[float]:
    """The largest exponent of many steps along one board, of every seed at once.

    Args:
        model: which model.
        parameters: the seed first.
        shown: one board.
        how: how many steps, and how many of them do not count.

    Returns:
        [seed], NaN where tokens leave the range of float64.
    """
    inputs, start = beginning(model, parameters, shown)
    one = partial(models.step, model, parameters, inputs=inputs)
    found = long_time_exponents(
        one, start, how.long, count=1, skipped=floor(how.skipped * how.long)
    )
    return [float(value) for value in found.flatten()]
