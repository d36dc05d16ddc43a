"""All finite-time Lyapunov exponents of trained models along a few boards."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import Distribution, MeasureJob
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    beginning,
    of_seed,
    parameters_of,
    puzzles,
)
from transformer_dynamics.recurrent_attention.models import effective_weights
from transformer_dynamics.recurrent_attention.theory.exponents import along, spectrum
from transformer_dynamics.recurrent_attention.theory.jacobian import step


def measure(
    job: MeasureJob[Distribution], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Every exponent of T steps that is not null, in float64.

    Args:
        job: the condition, how many boards, and T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, board, index (from 0, of descending exponents) and exponent; none of a board
        whose tokens or Jacobians leave the range of float64.
    """
    (boards,) = data
    model, rows = job.train.model, []
    shown = puzzles(boards, SPLIT, job.how.boards)
    for run in runs:
        parameters = parameters_of(run, torch.float64)
        for index, seed in enumerate(run.seeds):
            own = of_seed(parameters, index)
            inputs, start = beginning(model, own, shown)
            weights = effective_weights(model, own)
            for board in range(job.how.boards):
                at = partial(step, model, own, weights, inputs=inputs[board])
                steps = along(at, start[board], job.how.steps)
                if steps[-1].is_finite:
                    found = spectrum(steps)
                    columns = {"seed": seed, "board": board, "index": np.arange(len(found))}
                    rows.append(pd.DataFrame(columns | {"exponent": found}))
    empty = pd.DataFrame({"seed": [0], "board": [0], "index": [0], "exponent": [0.0]}).iloc[:0]
    return pd.concat([empty, *rows], ignore_index=True)
