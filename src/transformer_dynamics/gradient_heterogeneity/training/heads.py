"""Train heads on features that stay as they are: all optimisers and sizes of batches at once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.errors import InputError
from replication.study.devices import device
from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.gradient_heterogeneity.data.batches import (
    batch_indices,
    slice_indices,
)
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.theory.head import head_gradient, head_norms
from transformer_dynamics.gradient_heterogeneity.training.optimisers import (
    initial_moments,
    update_parameters,
)
from transformer_dynamics.gradient_heterogeneity.training.record import recorded_steps

Arrays = dict[str, NDArray[Any]]


class HeadSamples(NamedTuple):
    """Samples that heads are trained on."""

    features: Tensor
    """[N, h] Features phi, in float64."""
    labels: Tensor
    """[N] Number of each sample's class, below C."""
    classes: int
    """Number C of classes."""


def train(
    job: HeadsJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> Arrays:
    """Train the heads of some seeds on tokens and features of a set, in float64.

    Each seed draws a head that all optimisers and batches start from, and orders of samples. The
    arrays are, the seed first, `heads` [optimiser, batch size, point, `HEAD_COLUMNS`], with the
    steps before each point in `points`, and `shares` [C] of the classes among the samples. No
    checkpoint is kept, as a seed takes a minute at most. Raises an `InputError` if the device is
    not there, or there are fewer classes.
    """
    tokens, features = data
    place = device(job.device)
    number = len(tokens["classes"])
    if job.classes is not None and job.classes > number:
        raise InputError(f"{job.texts}: has {number} classes, but {job.classes} are asked for")
    known = head_samples(tokens, features, job.classes, place)
    shares = torch.bincount(known.labels, minlength=known.classes).double() / len(known.labels)
    found: list[NDArray[np.float64]] = []
    for seed in seeds:
        click.echo(f"{job.texts}, {known.classes} classes: seed {seed}", err=True)
        found.append(_train_heads(job, seed, known))
    return {
        "heads": np.stack(found),
        "points": np.tile(recorded_steps(job.steps, job.points), (len(seeds), 1)),
        "shares": np.tile(shares.cpu().numpy(), (len(seeds), 1)),
    }


def head_samples(
    tokens: Mapping[str, NDArray[Any]],
    features: Mapping[str, NDArray[Any]],
    classes: int | None,
    place: torch.device,
) -> HeadSamples:
    """Return the published training samples of the first classes, or of all."""
    number = len(tokens["classes"]) if classes is None else classes
    labels, phi = tokens["train_labels"], features["train_features"]
    chosen = labels < number
    return HeadSamples(
        torch.from_numpy(phi[chosen]).to(place, torch.float64),
        torch.from_numpy(labels[chosen]).to(place),
        number,
    )


def _train_heads(job: HeadsJob, seed: int, known: HeadSamples) -> NDArray[np.float64]:
    """Train all heads of a seed: [optimiser, batch size, point, `HEAD_COLUMNS`]."""
    features, labels, classes = known
    start = drawn_head(classes, features.shape[1], seed, job.head_deviation)
    axes = (len(job.optimisers), len(job.batch_sizes))
    # Both as [optimiser, batch size, ...].
    heads = {
        name: tensor.to(features).expand(*axes, *tensor.shape).contiguous()
        for name, tensor in start._asdict().items()
    }
    gradients = {name: torch.empty_like(tensor) for name, tensor in heads.items()}
    rules = [each.update_rule for each in job.optimisers]
    moments = [initial_moments(rule, _take(heads, i)) for i, rule in enumerate(rules)]
    judged = torch.from_numpy(slice_indices(job.slice, len(labels))).to(labels.device)
    known_slice = HeadSamples(features[judged], labels[judged], classes)
    points, rows = set(recorded_steps(job.steps, job.points).tolist()), []
    for step in range(job.steps + 1):
        if step in points:
            rows.append(record_heads(heads, known_slice))
        if step == job.steps:
            break
        for j, size in enumerate(job.batch_sizes):
            batch = torch.from_numpy(batch_indices(seed, step, size, len(labels))).to(labels.device)
            found = head_gradient(
                heads["weight"][:, j], heads["bias"][:, j], features[batch], labels[batch]
            )
            for name, gradient in found.items():
                gradients[name][:, j] = gradient
        for i, rule in enumerate(rules):
            moments[i] = update_parameters(
                rule, _take(heads, i), _take(gradients, i), moments[i], job.rate
            )
    return torch.stack(rows, dim=2).cpu().numpy()


def _take(heads: Mapping[str, Tensor], optimiser: int) -> dict[str, Tensor]:
    return {name: tensor[optimiser] for name, tensor in heads.items()}


def record_heads(heads: Mapping[str, Tensor], known: HeadSamples) -> Tensor:
    """Return the numbers [..., `HEAD_COLUMNS`] that are recorded of heads.

    Heads are `weight` [..., C, h] and `bias` [..., C]; the mean cross-entropy is in nats.
    """
    weight, bias = heads["weight"], heads["bias"]
    norms = head_norms(weight)
    logits = known.features @ weight.mT + bias.unsqueeze(-2)
    logs = torch.log_softmax(logits, dim=-1)
    own = torch.arange(len(known.labels), device=logs.device)
    loss = -logs[..., own, known.labels].mean(dim=-1)
    return torch.stack([bias.mean(dim=-1), norms.common, norms.centred, norms.total, loss], dim=-1)
