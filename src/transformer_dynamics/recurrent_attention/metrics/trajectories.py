"""Distances of trajectories of trained models that begin side by side."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    SPLIT,
    Boards,
    initial_conditions,
    run_parameters,
    select_boards,
    trajectory,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Trajectories
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights
from transformer_dynamics.recurrent_attention.training.network import final_tokens

ORIGINAL, SPREAD, SMALL = "original", "spread", "small"
"""Kinds of trajectories: the unperturbed one, the paper's perturbation, a tiny one."""


@torch.no_grad()
def measure(
    job: MetricJob[Trajectories], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Return L1 distances of perturbed trajectories from the original one, in float64.

    All are on one board. After `warm_up` steps from X_0 normal noise is added to the tokens, and
    nothing else.

    Columns: seed, kind (`original`, `spread`, `small`), run (0 of the original), t (steps after the
    perturbation), distance (|X - X_original|_1 over all entries of the board) and coordinate (the
    first channel of the first token).
    """
    (boards,) = data
    shown = select_boards(boards, SPLIT, 1)
    model, settings, tables = job.train.model, job.settings, []
    kinds = [ORIGINAL, *[SPREAD] * settings.runs, SMALL]
    number = [0, *range(1, settings.runs + 1), settings.runs + 1]
    evenly = set(np.linspace(0, settings.steps, settings.points).round().astype(int).tolist())
    kept = {
        kind: evenly | set(range(1 + (settings.linear if kind == SMALL else settings.early)))
        for kind in (ORIGINAL, SPREAD, SMALL)
    }
    for run in runs:
        parameters = run_parameters(run, torch.float64, job.device)
        inputs, start = initial_conditions(model, parameters, shown)
        warm = final_tokens(model, parameters, start, inputs, settings.warm_up)
        perturbed = warm + _perturbations(settings, model, warm.shape[-2]).to(warm)
        weights = effective_weights(model, parameters)
        along = trajectory(model, parameters, weights, perturbed, inputs.expand_as(perturbed))
        rows = []
        for t, tokens in zip(range(settings.steps + 1), along, strict=False):
            at = [place for place, kind in enumerate(kinds) if t in kept[kind]]
            if at:
                distance = (tokens - tokens[:, :1]).abs().sum(dim=(-2, -1))[:, at].cpu().numpy()
                coordinate = tokens[:, at, 0, 0].cpu().numpy()
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


def _perturbations(settings: Trajectories, model: Model, cells: int) -> Tensor:
    """Draw perturbations [trajectory, S, D]: 0 of the original, the paper's, the tiny one."""
    random = generator(0, "perturbations")
    drawn = random.standard_normal((settings.runs + 2, cells, model.width))
    sizes = np.array([0, *[settings.spread] * settings.runs, settings.small])
    return torch.from_numpy(sizes[:, None, None] * drawn)
