"""Trained models that are changed afterwards: other step sizes, weights or inputs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from replication.study import Run
from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Perturbed
from transformer_dynamics.recurrent_attention.measures.exponents import (
    SPLIT,
    Found,
    finite_time,
)
from transformer_dynamics.recurrent_attention.measures.jacobians import closed_step
from transformer_dynamics.recurrent_attention.measures.trained import (
    Boards,
    Puzzles,
    initial_noise,
    of_seed,
    parameters_of,
    puzzles,
    solved,
)
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import (
    advance,
    effective_weights,
    embedded,
    initial_tokens,
    readout,
)

UNCHANGED = "none"
"""What is changed of a model that is as it was trained."""


class Changed(NamedTuple):
    """A trained model of which one thing is changed."""

    quantity: str
    """What: eta, weights or inputs, or `UNCHANGED`."""
    value: float
    """Its value (of eta), or its factor."""
    parameters: Mapping[str, Tensor]
    """With the new eta."""
    weights: Weights
    """Of attention, with the new W^V."""
    inputs: float
    """Factor of C."""


def measure(
    job: MeasureJob[Perturbed], runs: Iterable[Run], data: Sequence[Boards]
) -> pd.DataFrame:
    """Exponents and accuracy of every seed after each change.

    W^V and W^O are multiplied alone: of symmetric SA neither W^Q nor the other changes with them.

    Args:
        job: the condition, the changes, how many boards the exponents take, and T.
        runs: trained models.
        data: the boards.

    Returns:
        Columns seed, quantity (`eta`, `weights`, `inputs`, `none`), value (of eta, or the factor);
        max, leading and nonnull, means over boards as in `exponents`, NaN if a board has none;
        finite and float32_finite, whether all of them are; accuracy in [0, 1], the share of solved
        boards of the whole split after T steps.
    """
    (boards,) = data
    model, rows = job.train.model, []
    whole = puzzles(boards, SPLIT)
    for run in runs:
        single, double = parameters_of(run), parameters_of(run, torch.float64)
        for index, seed in enumerate(run.seeds):
            pairs = zip(
                changes(model, of_seed(single, index), job.how),
                changes(model, of_seed(double, index), job.how),
                strict=True,
            )
            for for_accuracy, changed in pairs:
                found = exponents(model, changed, whole, job.how)
                right = accuracy(model, for_accuracy, whole, job.how.loops)
                rows.append((seed, changed.quantity, changed.value, *found, right))
    return pd.DataFrame(rows, columns=["seed", "quantity", "value", *Found._fields, "accuracy"])


def changes(model: Model, parameters: Mapping[str, Tensor], how: Perturbed) -> Iterator[Changed]:
    """The model as it was trained, then after one change each.

    Args:
        model: which model.
        parameters: of one seed.
        how: the changes.
    """
    weights = effective_weights(model, parameters)
    yield Changed(UNCHANGED, 1.0, parameters, weights, 1.0)
    for eta in how.etas:
        own = {**parameters, "eta": torch.full_like(parameters["eta"], eta)}
        yield Changed("eta", eta, own, weights, 1.0)
    for factor in how.weights:
        scaled = weights._replace(value=factor * weights.value)
        yield Changed("weights", factor, parameters, scaled, 1.0)
    for factor in how.inputs:
        yield Changed("inputs", factor, parameters, weights, factor)


def exponents(model: Model, changed: Changed, whole: Puzzles, how: Perturbed) -> Found:
    """Means over the first boards; finite if all of them are."""
    shown = Puzzles(*(part[: how.boards] for part in whole))
    inputs, start = _beginning(model, changed, shown)
    found = [
        finite_time(
            closed_step(model, changed.parameters, changed.weights, inputs[board]),
            start[board],
            how.loops,
            how.leading,
        )
        for board in range(how.boards)
    ]
    return Found(
        max=sum(each.max for each in found) / how.boards,
        leading=sum(each.leading for each in found) / how.boards,
        nonnull=sum(each.nonnull for each in found) / how.boards,
        finite=all(each.finite for each in found),
        float32_finite=all(each.float32_finite for each in found),
    )


@torch.no_grad()
def accuracy(model: Model, changed: Changed, shown: Puzzles, loops: int) -> float:
    """Share of boards all of whose blanks are right after T steps."""
    inputs, tokens = _beginning(model, changed, shown)
    for _ in range(loops):
        tokens = advance(model, changed.parameters, changed.weights, tokens, inputs)
    share, _ = solved(readout(changed.parameters, tokens).unsqueeze(0), shown)
    return float(share)


def _beginning(model: Model, changed: Changed, shown: Puzzles) -> tuple[Tensor, Tensor]:
    parameters = changed.parameters
    noise = initial_noise(SPLIT, 0, shown, model.width).to(parameters["eta"].dtype)
    inputs = changed.inputs * embedded(parameters, shown.digits)
    return inputs, initial_tokens(model, parameters, inputs, shown.blank, noise)
