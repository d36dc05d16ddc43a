"""Finite-time Lyapunov exponents of trained models."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import floor, log, nan
from typing import Any, NamedTuple

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
    seed_parameters,
    select_boards,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Exponents, MetricJob
from transformer_dynamics.recurrent_attention.settings.models import Network
from transformer_dynamics.recurrent_attention.theory import products
from transformer_dynamics.recurrent_attention.theory.exponents import (
    leading_exponents,
    long_time_exponents,
    mean_exponent,
    trajectory_steps,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import Step
from transformer_dynamics.recurrent_attention.theory.products import jacobian_step
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    effective_weights,
    next_tokens,
)

LARGEST_SINGLE = log(torch.finfo(torch.float32).max)
"""Logarithm of the largest number of float32."""


class BoardExponents(NamedTuple):
    """Exponents along one board."""

    max: float
    leading: float
    """Mean of the largest few exponents."""
    nonnull: float
    """Mean of all exponents that are not null."""
    finite: bool
    """True if float64 holds the trajectory and its Jacobians."""
    float32_finite: bool
    """True if float32 holds the tokens and alpha_1 = s_1^2 (B.3)."""


def measure(job: MetricJob[Exponents], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return exponents of every seed and board, lambda_i = (1/T) ln s_i, in float64.

    s_i are the singular values of the product of the Jacobians of T steps, which begin at X_0.

    Columns: seed, board, max, leading and nonnull (means of the largest `leading`, and of all that
    are not null), finite and float32_finite (true if those types can hold them), and long (the
    largest of `long` steps, by QR; NaN except for each seed's first board). Exponents that float64
    cannot hold are NaN; so is `nonnull` where it is estimated and the estimate does not settle.
    """
    (boards,) = data
    model, rows = job.train.model, []
    shown = select_boards(boards, SPLIT, job.settings.boards)
    for run in runs:
        parameters = run_parameters(run, torch.float64, job.device)
        long = largest_long_exponents(
            model, parameters, BoardTensors(*(part[:1] for part in shown)), job.settings
        )
        for (seed, own), largest in zip(
            seed_parameters([run], place=job.device), long, strict=True
        ):
            inputs, start = initial_conditions(model, own, shown)
            weights = effective_weights(model, own)
            for board in range(job.settings.boards):
                step = jacobian_step(model, own, weights, inputs[board])
                found = finite_time_exponents(
                    step, start[board], job.settings.steps, job.settings.leading
                )
                rows.append((seed, board, *found, largest if board == 0 else nan))
    return pd.DataFrame(rows, columns=["seed", "board", *BoardExponents._fields, "long"])


def finite_time_exponents(
    step: Callable[[Tensor], Step[Any]], start: Tensor, loops: int, leading: int
) -> BoardExponents:
    """Return the exponents of T = `loops` steps from X_0 [S, D]; `leading` are averaged."""
    steps = trajectory_steps(step, start, loops)
    if not steps[-1].is_finite:
        return BoardExponents(nan, nan, nan, finite=False, float32_finite=False)
    largest = leading_exponents(steps, leading)
    highest = float(largest[0])
    in_single = 2 * loops * highest <= LARGEST_SINGLE and all(
        bool(torch.isfinite(each.tokens.float()).all()) for each in steps
    )
    by_products = isinstance(steps[0].jacobian, products.Products)
    nonnull, _ = products.mean_exponent(steps) if by_products else (mean_exponent(steps), None)
    return BoardExponents(highest, float(largest.mean()), float(nonnull), True, in_single)


@torch.no_grad()
def largest_long_exponents(
    model: Network, parameters: Parameters, shown: BoardTensors, settings: Exponents
) -> list[float]:
    """Return the largest exponent of many steps [seed]; NaN where tokens leave float64's range."""
    inputs, start = initial_conditions(model, parameters, shown)
    weights = effective_weights(model, parameters)
    step = partial(next_tokens, model, parameters, weights, inputs=inputs)
    skipped = floor(settings.skipped * settings.long)
    found = long_time_exponents(step, start, settings.long, count=1, skipped=skipped)
    return [float(value) for value in found.flatten()]
