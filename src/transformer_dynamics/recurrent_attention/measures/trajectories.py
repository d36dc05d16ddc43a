"""How trajectories of trained models that begin side by side part."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Trajectories
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    beginning,
    parameters_of,
    puzzles,
    states,
)
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import effective_weights, loop

ORIGINAL, SPREAD, SMALL = "original", "spread", "small"
"""Kinds of trajectories: what the others began beside, the paper's perturbation, a tiny one."""


@torch.no_grad()
def measure(
    job: MeasureJob[Trajectories], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """L1 distances of perturbed trajectories from the original one, on one board, in float64.

    After `warm_up` steps from X_0 normal noise is added to the tokens, and nothing else.

    Args:
        job: the condition, and which trajectories.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, kind (`original`, `spread`, `small`), run (0 of the original), t (steps after
        the perturbation), distance (|X - X_original|_1 over all entries of the board) and
        coordinate (the first channel of the first token).
    """
    (boards,) = data
    shown = puzzles(boards, SPLIT, 1)
    model, how, tables = job.train.model, job.how, []
    kinds = [ORIGINAL, *[SPREAD] * how.runs, SMALL]
    number = [0, *range(1, how.runs + 1), how.runs + 1]
    evenly = set(np.linspace(0, how.steps, how.points).round().astype(int).tolist())
    kept = {
        kind: evenly | set(range(1 + (how.linear if kind == SMALL else how.early)))
        for kind in (ORIGINAL, SPREAD, SMALL)
    }
    for run in runs:
        parameters = parameters_of(run, torch.float64)
        inputs, start = beginning(model, parameters, shown)
        warm = loop(model, parameters, start, inputs, how.warm_up)
        begun = warm + _perturbations(how, model, warm.shape[-2])
        weights = effective_weights(model, parameters)
        along = states(model, parameters, weights, begun, inputs.expand_as(begun))
        rows = []
        for t, tokens in zip(range(how.steps + 1), along, strict=False):
            at = [place for place, kind in enumerate(kinds) if t in kept[kind]]
            if at:
                distance = (tokens - tokens[:, :1]).abs().sum(dim=(-2, -1))[:, at].numpy()
                coordinate = tokens[:, at, 0, 0].numpy()
                rows.append((t, at, distance, coordinate))
        for index, seed in enumerate(run.seeds):
            tables += [
                pd.DataFrame({
                    "seed": seed,
                    "kind": [kinds[place] for place in at],
                    "run": [number[place] for place in at],
                    "t": t,
                    "distance": distance[index],
                    "coordinate": coordinate[index],
                })
                for t, at, distance, coordinate in rows
            ]  # fmt: skip
    return pd.concat(tables, ignore_index=True)


def _perturbations(how: Trajectories, model: Model, cells: int) -> Tensor:
    """[trajectory, S, D] none for the original, then the paper's, then the tiny one."""
    random = generator(0, "perturbations")
    drawn = random.standard_normal((how.runs + 2, cells, model.width))
    sizes = np.array([0, *[how.spread] * how.runs, how.small])
    return torch.from_numpy(sizes[:, None, None] * drawn)
