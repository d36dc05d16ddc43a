"""Share of solved boards against the number of loops."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    Boards,
    initial_conditions,
    run_parameters,
    select_boards,
    solved_shares,
    trajectory,
)
from transformer_dynamics.recurrent_attention.settings.metrics import IN, OUT, Accuracy, MetricJob
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.recurrence import Parameters, effective_weights
from transformer_dynamics.recurrent_attention.training.network import readout_logits

SPLITS = {"test_in": IN, "test_out": OUT}
"""Names of the splits in tables."""


def measure(job: MetricJob[Accuracy], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return the accuracy of every seed, a mean over boards and draws of the noise.

    Columns: seed, split, loops, solved (share of boards whose blanks are all right) and cells
    (share of right blanks), both in [0, 1].
    """
    (boards,) = data
    model, rows = job.train.model, []
    for run in runs:
        parameters = run_parameters(run, place=job.device)
        for split, name in SPLITS.items():
            shown = select_boards(boards, split)
            for draw in range(job.settings.draws):
                inputs, start = initial_conditions(model, parameters, shown, split, draw)
                for loops, logits in logits_along_loops(
                    model, parameters, start, inputs, job.settings.loops
                ):
                    whole, cells = (part.tolist() for part in solved_shares(logits, shown))
                    columns = {"seed": run.seeds, "split": name, "loops": loops}
                    rows.append(pd.DataFrame(columns | {"solved": whole, "cells": cells}))
    table = pd.concat(rows)
    return table.groupby(["seed", "split", "loops"], sort=False).mean().reset_index()


@torch.no_grad()
def logits_along_loops(
    model: Model, parameters: Parameters, tokens: Tensor, inputs: Tensor, loops: list[int]
) -> Iterator[tuple[int, Tensor]]:
    """Yield T, ascending, and the logits [seed, board, S, digits] after T loops.

    X_0 and C are [seed, board, S, D].
    """
    weights = effective_weights(model, parameters)
    along = trajectory(model, parameters, weights, tokens, inputs)
    for done, reached in zip(range(max(loops) + 1), along, strict=False):
        if done in loops:
            yield done, readout_logits(parameters, reached)
