"""Kernels of one seed at the start of FT, LoRA, LP-FT and LP-LoRA, along the rows of both heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.study.devices import device
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.data.samples import draw_places
from transformer_dynamics.lp_ft.settings.start import KernelJob
from transformer_dynamics.lp_ft.theory.updates import prediction_errors
from transformer_dynamics.lp_ft.training import feature_kernel
from transformer_dynamics.lp_ft.training.classifier import adapted_layers, draw_projections
from transformer_dynamics.lp_ft.training.starts import draw_start

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]


def train(
    job: KernelJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> Arrays:
    """Compute the kernels of a seed; nothing is trained but the probe.

    All is in float64: of gradients in float32 a Gram matrix has noise of 1e-7 of its largest entry,
    which is above the smallest tolerance of ranks, and the time of its products is but doubled. The
    data are tokens and test features of the set, features of the seed's samples, and the encoder.
    The arrays are, the seed first, those of `kernel_arrays`, and `strength`, C_reg. Raises an
    `InputError` if the device is not there, a probe fails or an encoder is not known.
    """
    (seed,) = seeds
    place = device(job.device)
    start = draw_start(job, seed, data)
    train, test = start.samples.train, start.samples.tests["test"]
    chosen = draw_places(test, job.test_samples, seed, "test samples of the kernel")
    model = build(Pretrained.of(data[3])).double().to(place)
    tokens = join_tokens(train.tokens.take(start.chosen), test.tokens.take(chosen))
    features = np.concatenate([train.features[start.chosen], test.features[chosen]])
    projections = draw_projections(model, job.adapters, job.draws, seed)
    arrays = kernel_arrays(
        model,
        (tokens, features.astype(np.float64), len(start.chosen)),
        [start.random, start.probe],
        (projections, job.adapters.alpha, job.megabytes * 10**6),
        checkpoint,
    )
    arrays["strength"] = np.array(start.strength)
    return {name: np.asarray(values)[None] for name, values in arrays.items()}


def kernel_arrays(
    model: nn.Module,
    samples: tuple[Tokens, NDArray[np.float64], int],
    heads: Sequence[Head],
    adapters: tuple[Sequence[Mapping[str, Tensor]], float, int],
    checkpoint: "Checkpoint | None" = None,
) -> Arrays:
    """Compute the kernels and all else that tables of kernels are made of.

    The encoder is in float64. `samples` are n texts, their features [n, h], and N, the number of
    training samples among them; `adapters` are D draws of A by layer, alpha, and bytes of factors
    at a time. There are H heads.

    The arrays are `labels` [n]; `training` N; `p` [n, N], <phi, phi'> + 1; along Q directions that
    span the rows of all heads, `whole`, `adapted` and `adapters` [n, N, Q, Q], of all parameters,
    of queries and values, and of adapters with the first A; `coefficients` [H, C, Q] of heads;
    `errors` [H, N, C] delta_i; `inner` [H, D + 2, D + 2], inner products over training samples of F
    of all parameters, of the adapted, and of adapters with every A; `width` h.
    """
    texts, features, training = samples
    projections, alpha, room = adapters
    at = next(model.parameters())
    directions, coefficients = feature_kernel.orthonormal_directions(
        [head.weight.to(at) for head in heads]
    )
    names = adapted_layers(model)
    plan = feature_kernel.KernelPlan(directions, training, projections, names, alpha, room)
    found = feature_kernel.feature_kernels(model, texts, plan, checkpoint)
    phi, labels = torch.from_numpy(features), torch.from_numpy(texts.labels)
    known = phi[:training]
    delta = [prediction_errors(head.logits(known), labels[:training]) for head in heads]
    kernels = torch.stack([found.whole, found.adapted, *found.adapters])[:, :training]
    arrays = {
        "p": phi @ known.T + 1,
        "whole": found.whole,
        "adapted": found.adapted,
        "adapters": found.adapters[0],
        "coefficients": torch.stack(coefficients),
        "errors": torch.stack(delta),
        "inner": torch.stack([_inner_products(kernels, each) for each in coefficients]),
    }
    return {name: tensor.cpu().numpy() for name, tensor in arrays.items()} | {
        "labels": texts.labels,
        "training": np.array(training),
        "width": np.array(features.shape[1]),
    }


def _inner_products(kernels: Tensor, coefficient: Tensor) -> Tensor:
    """Return [D + 2, D + 2] inner products of the FT-effective kernels of one head."""
    flat = torch.stack(
        [feature_kernel.ft_effective_kernel(kernel, coefficient).flatten() for kernel in kernels]
    )
    return flat @ flat.T


def join_tokens(first: Tokens, second: Tokens) -> Tokens:
    """Return some texts and then others, padded to a common length."""
    width = max(first.tokens.shape[1], second.tokens.shape[1])
    padded = [
        np.pad(part.tokens, ((0, 0), (0, width - part.tokens.shape[1]))) for part in (first, second)
    ]
    return Tokens(
        np.concatenate(padded),
        np.concatenate([first.lengths, second.lengths]),
        np.concatenate([first.seconds, second.seconds]),
        np.concatenate([first.labels, second.labels]),
    )
