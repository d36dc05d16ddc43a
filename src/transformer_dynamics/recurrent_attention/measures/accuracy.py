"""Share of solved boards against the number of loops."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import Accuracy, MeasureJob
from transformer_dynamics.recurrent_attention.measures.trained import (
    Boards,
    beginning,
    parameters_of,
    puzzles,
    solved,
    states,
)
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import Parameters, effective_weights, readout

SPLITS = {"test_in": "in distribution", "test_out": "out of distribution"}
"""Splits of the boards, and what they are called."""


def measure(job: MeasureJob[Accuracy], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Accuracy of every seed.

    Args:
        job: the condition, and at which T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, split, loops, solved (share of boards whose blanks are all right) and cells
        (share of right blanks), both in [0, 1], means over boards and draws of the noise.
    """
    (boards,) = data
    model, rows = job.train.model, []
    for run in runs:
        parameters = parameters_of(run)
        for split, name in SPLITS.items():
            shown = puzzles(boards, split)
            for draw in range(job.how.draws):
                inputs, start = beginning(model, parameters, shown, split, draw)
                for loops, logits in forward(model, parameters, start, inputs, job.how.loops):
                    whole, cells = (part.tolist() for part in solved(logits, shown))
                    columns = {"seed": run.seeds, "split": name, "loops": loops}
                    rows.append(pd.DataFrame(columns | {"solved": whole, "cells": cells}))
    table = pd.concat(rows)
    return table.groupby(["seed", "split", "loops"], sort=False).mean().reset_index()


@torch.no_grad()
def forward(
    model: Model, parameters: Parameters, tokens: Tensor, inputs: Tensor, loops: list[int]
) -> Iterator[tuple[int, Tensor]]:
    """Logits [seed, board, S, digits] after each number of loops.

    Args:
        model: which model.
        parameters: of all seeds, the seed first.
        tokens: X_0 [seed, board, S, D].
        inputs: C, of the same shape.
        loops: T, in any order; they come ascending.
    """
    weights = effective_weights(model, parameters)
    along = states(model, parameters, weights, tokens, inputs)
    for done, reached in zip(range(max(loops) + 1), along, strict=False):
        if done in loops:
            yield done, readout(parameters, reached)
