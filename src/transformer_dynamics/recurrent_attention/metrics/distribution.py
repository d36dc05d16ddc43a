"""All finite-time Lyapunov exponents of trained models along a few boards."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    seed_starts,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Distribution, MetricJob
from transformer_dynamics.recurrent_attention.theory.exponents import (
    exponent_spectrum,
    leading_exponents,
    trajectory_steps,
)
from transformer_dynamics.recurrent_attention.theory.products import jacobian_step
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights


def measure(
    job: MetricJob[Distribution], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Return every exponent of T steps that is not null, or the largest ones, in float64.

    Columns: seed, board, index (from 0, of descending exponents) and exponent; none of a board
    whose tokens or Jacobians leave the range of float64.
    """
    model, rows = job.train.model, []
    for seed, own, inputs, start in seed_starts(job, runs, data):
        weights = effective_weights(model, own)
        for board in range(job.settings.boards):
            step = jacobian_step(model, own, weights, inputs[board])
            steps = trajectory_steps(step, start[board], job.settings.steps)
            if steps[-1].is_finite:
                most = job.settings.largest
                found = (
                    leading_exponents(steps, most).cpu().numpy()
                    if most
                    else exponent_spectrum(steps)
                )
                columns = {"seed": seed, "board": board, "index": np.arange(len(found))}
                rows.append(pd.DataFrame(columns | {"exponent": found}))
    empty = pd.DataFrame({"seed": [0], "board": [0], "index": [0], "exponent": [0.0]}).iloc[:0]
    return pd.concat([empty, *rows], ignore_index=True)
