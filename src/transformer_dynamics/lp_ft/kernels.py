"""Kernels of one seed at the start of FT, LoRA, LP-FT and LP-LoRA, along the rows of both heads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.random_streams import generator
from replication.study.devices import device
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft import feature_kernel, gradients
from transformer_dynamics.lp_ft.kernel_settings import KernelJob
from transformer_dynamics.lp_ft.run_settings import Adapters
from transformer_dynamics.lp_ft.starts import few, start
from transformer_dynamics.lp_ft.theory.updates import errors

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]


def train(
    job: KernelJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> Arrays:
    """Kernels of a seed; nothing is trained but the probe.

    All is in float64: of gradients in float32 a Gram matrix has noise of 1e-7 of its largest entry,
    which is above the smallest tolerance of ranks, and the time of its products is but doubled.

    Args:
        job: samples, adapters and memory.
        seeds: the one seed.
        data: tokens and features of the set, then the encoder.
        checkpoint: keeps the sums that are under way.

    Returns:
        The seed first; see `of_samples`; `strength` C_reg.

    Raises:
        InputError: if the device is not there, a probe fails or an encoder is not known.
    """
    (seed,) = seeds
    place = device(job.device)
    found = start(job, seed, data)
    test = found.sets.tests["test"]
    chosen = few(test, job.test_samples, seed, "test samples of the kernel")
    model = build(Pretrained.of(data[2])).double().to(place)
    parts = found.sets.train, test
    tokens = joined(
        *(part.tokens.take(at) for part, at in zip(parts, (found.chosen, chosen), strict=True))
    )
    features = np.concatenate([parts[0].features[found.chosen], parts[1].features[chosen]])
    projections = drawn(model, job.adapters, job.draws, seed)
    arrays = of_samples(
        model,
        (tokens, features.astype(np.float64), len(found.chosen)),
        [found.random, found.probe],
        (projections, job.adapters.alpha, job.megabytes * 10**6),
        checkpoint,
    )
    arrays["strength"] = np.array(found.strength)
    return {name: np.asarray(values)[None] for name, values in arrays.items()}


def of_samples(
    model: nn.Module,
    samples: tuple[Tokens, NDArray[np.float64], int],
    heads: Sequence[Head],
    adapters: tuple[Sequence[Mapping[str, Tensor]], float, int],
    checkpoint: "Checkpoint | None" = None,
) -> Arrays:
    """All that tables of kernels are made of.

    Args:
        model: the encoder, in float64.
        samples: n texts, [n, h] their features, and N, how many of them are for training.
        heads: H heads.
        adapters: D draws of A by layer, alpha, and bytes of factors at a time.
        checkpoint: keeps what is under way.

    Returns:
        `labels` [n]; `training` N; `p` [n, N], <phi, phi'> + 1; along Q directions that span the
        rows of all heads, `whole`, `adapted` and `adapters` [n, N, Q, Q], of all parameters, of
        queries and values, and of adapters with the first A; `coefficients` [H, C, Q] of heads;
        `errors` [H, N, C] delta_i; `inner` [H, D + 2, D + 2], inner products over training samples
        of F of all parameters, of the adapted, and of adapters with every A; `width` h.
    """
    texts, features, training = samples
    projections, alpha, room = adapters
    at = next(model.parameters())
    directions, coefficients = feature_kernel.span([head.weight.to(at) for head in heads])
    names = gradients.adapted(model)
    plan = feature_kernel.Plan(directions, training, projections, names, alpha, room)
    found = feature_kernel.kernels(model, texts, plan, checkpoint)
    phi, labels = torch.from_numpy(features), torch.from_numpy(texts.labels)
    known = phi[:training]
    delta = [errors(head.logits(known), labels[:training]) for head in heads]
    stacked = torch.stack([found.whole, found.adapted, *found.adapters])[:, :training]
    inner = []
    for coefficient in coefficients:
        flat = torch.stack(
            [feature_kernel.ft_effective(kernel, coefficient).flatten() for kernel in stacked]
        )
        inner.append(flat @ flat.T)
    arrays = {
        "p": phi @ known.T + 1,
        "whole": found.whole,
        "adapted": found.adapted,
        "adapters": found.adapters[0],
        "coefficients": torch.stack(coefficients),
        "errors": torch.stack(delta),
        "inner": torch.stack(inner),
    }
    return {name: tensor.cpu().numpy() for name, tensor in arrays.items()} | {
        "labels": texts.labels,
        "training": np.array(training),
        "width": np.array(features.shape[1]),
    }


def drawn(model: nn.Module, adapters: Adapters, draws: int, seed: int) -> list[dict[str, Tensor]]:
    """A of every adapted layer, [r, d_in] uniform within 1/sqrt(d_in); the first is LoRA's own.

    Args:
        model: the encoder, whose type and place they have.
        adapters: r.
        draws: D.
        seed: of all draws.
    """
    random = generator(seed, "adapters")
    found = []
    for _ in range(draws):
        of_layers: dict[str, Tensor] = {}
        for name in gradients.adapted(model):
            weight: Tensor = model.get_submodule(name).weight  # type: ignore[assignment]
            bound = weight.shape[1] ** -0.5
            a = random.uniform(-bound, bound, (adapters.rank, weight.shape[1]))
            # As it is when it is trained.
            of_layers[name] = torch.from_numpy(a).float().to(weight)
        found.append(of_layers)
    return found


def joined(first: Tokens, second: Tokens) -> Tokens:
    """Some texts and then others, padded to a common length."""
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
