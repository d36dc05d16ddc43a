"""Trained models that are changed afterwards: other step sizes, weights or inputs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.measure_settings import MeasureJob, Perturbed
from transformer_dynamics.recurrent_attention.measures.exponents import Found, finite_time
from transformer_dynamics.recurrent_attention.measures.trained import (
    SPLIT,
    Boards,
    Puzzles,
    beginning,
    of_seed,
    parameters_of,
    puzzles,
    solved,
    states,
)
from transformer_dynamics.recurrent_attention.model_settings import Model, WholeModel
from transformer_dynamics.recurrent_attention.models import Parameters, effective_weights, readout
from transformer_dynamics.recurrent_attention.theory.jacobian import step

UNCHANGED = "none"
"""What is changed of a model that is as it was trained."""


class Changed(NamedTuple):
    """A trained model of which one thing is changed."""

    quantity: str
    """What: eta, weights or inputs, or `UNCHANGED`."""
    value: float
    """Its value (of eta), or its factor."""
    parameters: Parameters
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


def changes(model: Model, parameters: Parameters, how: Perturbed) -> Iterator[Changed]:
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


def exponents(model: WholeModel, changed: Changed, whole: Puzzles, how: Perturbed) -> Found:
    """Means over the first boards; finite if all of them are."""
    shown = Puzzles(*(part[: how.boards] for part in whole))
    parameters, weights = changed.parameters, changed.weights
    inputs, start = beginning(model, parameters, shown, factor=changed.inputs)
    found = [
        finite_time(
            partial(step, model, parameters, weights, inputs=inputs[board]),
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
def accuracy(model: WholeModel, changed: Changed, shown: Puzzles, loops: int) -> float:
    """Share of boards all of whose blanks are right after T steps."""
    parameters = changed.parameters
    inputs, start = beginning(model, parameters, shown, factor=changed.inputs)
    along = states(model, parameters, changed.weights, start, inputs)
    logits = readout(parameters, next(islice(along, loops, None)))
    share, _ = solved(logits.unsqueeze(0), shown)
    return float(share)
