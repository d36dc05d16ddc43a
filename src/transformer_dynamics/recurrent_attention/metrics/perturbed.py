"""Trained models that are changed afterwards: other step sizes, weights or inputs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import pandas as pd
import torch

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.exponents import (
    BoardExponents,
    finite_time_exponents,
)
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    SPLIT,
    Boards,
    BoardTensors,
    initial_conditions,
    seed_parameters,
    select_boards,
    solved_shares,
    trajectory,
)
from transformer_dynamics.recurrent_attention.settings.metrics import MetricJob, Perturbed
from transformer_dynamics.recurrent_attention.settings.models import Model, Network
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.products import jacobian_step
from transformer_dynamics.recurrent_attention.theory.recurrence import Parameters, effective_weights
from transformer_dynamics.recurrent_attention.training.network import readout_logits

UNCHANGED = "none"
"""Quantity of a model that is as it was trained."""


class ChangedModel(NamedTuple):
    """A trained model with one change."""

    quantity: str
    """Name of the changed quantity: eta, weights or inputs, or `UNCHANGED`."""
    value: float
    """Value of eta, or factor of the weights or inputs."""
    parameters: Parameters
    """Parameters by name, with the new eta."""
    weights: Weights
    """Matrices of attention, with the new W^V."""
    inputs: float
    """Factor of the inputs C."""


def measure(job: MetricJob[Perturbed], runs: Iterable[Run], data: Sequence[Boards]) -> pd.DataFrame:
    """Return exponents and accuracy of every seed after each change.

    W^V and W^O are multiplied alone: of symmetric SA neither W^Q nor the other changes with them.

    Columns: seed, quantity (`eta`, `weights`, `inputs`, `none`), value (of eta, or the factor);
    max, leading and nonnull, means over boards as in `exponents`, NaN if a board has none; finite
    and float32_finite, true if all boards are; accuracy in [0, 1], the share of solved boards of
    the whole split after T steps.
    """
    (boards,) = data
    model, rows = job.train.model, []
    whole = select_boards(boards, SPLIT)
    for run in runs:
        single, double = (
            seed_parameters([run], dtype, job.device) for dtype in (torch.float32, torch.float64)
        )
        for (seed, own), (_, precise) in zip(single, double, strict=True):
            pairs = zip(
                changed_models(model, own, job.settings),
                changed_models(model, precise, job.settings),
                strict=True,
            )
            for for_accuracy, changed in pairs:
                found = mean_exponents(model, changed, whole, job.settings)
                right = solved_share(model, for_accuracy, whole, job.settings.loops)
                rows.append((seed, changed.quantity, changed.value, *found, right))
    return pd.DataFrame(
        rows, columns=["seed", "quantity", "value", *BoardExponents._fields, "accuracy"]
    )


def changed_models(
    model: Model, parameters: Parameters, settings: Perturbed
) -> Iterator[ChangedModel]:
    """Yield the model of one seed as it was trained, then after one change each."""
    weights = effective_weights(model, parameters)
    yield ChangedModel(UNCHANGED, 1.0, parameters, weights, 1.0)
    for eta in settings.etas:
        own = {**parameters, "eta": torch.full_like(parameters["eta"], eta)}
        yield ChangedModel("eta", eta, own, weights, 1.0)
    for factor in settings.weights:
        scaled = weights._replace(value=factor * weights.value)
        yield ChangedModel("weights", factor, parameters, scaled, 1.0)
    for factor in settings.inputs:
        yield ChangedModel("inputs", factor, parameters, weights, factor)


def mean_exponents(
    model: Network, changed: ChangedModel, whole: BoardTensors, settings: Perturbed
) -> BoardExponents:
    """Return means over the first boards; finite if all of them are."""
    shown = BoardTensors(*(part[: settings.boards] for part in whole))
    parameters, weights = changed.parameters, changed.weights
    inputs, start = initial_conditions(model, parameters, shown, factor=changed.inputs)
    found = [
        finite_time_exponents(
            jacobian_step(model, parameters, weights, inputs[board]),
            start[board],
            settings.loops,
            settings.leading,
        )
        for board in range(settings.boards)
    ]
    *means, finite, float32_finite = zip(*found, strict=True)
    largest, leading, nonnull = (sum(each) / settings.boards for each in means)
    return BoardExponents(largest, leading, nonnull, all(finite), all(float32_finite))


@torch.no_grad()
def solved_share(model: Network, changed: ChangedModel, shown: BoardTensors, loops: int) -> float:
    """Return the share of boards whose blanks are all right after T steps."""
    parameters = changed.parameters
    inputs, start = initial_conditions(model, parameters, shown, factor=changed.inputs)
    along = trajectory(model, parameters, changed.weights, start, inputs)
    logits = readout_logits(parameters, next(islice(along, loops, None)))
    share, _ = solved_shares(logits.unsqueeze(0), shown)
    return float(share)
