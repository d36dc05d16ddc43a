"""The FT ratio of an encoder without a kernel: one gradient and one Jacobian-vector product.

As `theory.ft_ratio` has it, batch by batch. The product also says how far a step of gradient
descent moves features, eta ||J(x) g||, by Eq. (2).
"""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import feature_map, tensors
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.theory.ft_ratio import Terms, p_term
from transformer_dynamics.lp_ft.theory.networks import FeatureMap
from transformer_dynamics.lp_ft.theory.updates import errors


class Step(NamedTuple):
    """What a step of gradient descent on the summed loss does, for eta = 1, linearised."""

    terms: Terms
    """Parts of the change of the logits, [n, C] each, in float64."""
    features: Tensor
    """[n, h] change of features, in float64."""
    errors: Tensor
    """[n, C] delta_i."""


def step(model: nn.Module, texts: Tokens, known: Tensor, head: Head, size: int) -> Step:
    """The step on some samples, for the same samples.

    Args:
        model: an encoder in eval mode; its type is that of the products.
        texts: [n] samples.
        known: [n, h] their features, float64.
        head: V and b, float64.
        size: texts at a time.
    """
    delta = errors(head.logits(known), torch.from_numpy(texts.labels).to(known.device))
    moved = products(model, texts, delta @ head.weight, size).to(known)
    return Step(Terms(p_term(known, known, delta), moved @ head.weight.T), moved, delta)


def products(model: nn.Module, texts: Tokens, pulled: Tensor, size: int) -> Tensor:
    """J(x) g with g = sum_i J_i^T z_i, for x among the samples.

    Args:
        model: an encoder in eval mode.
        texts: [n] samples.
        pulled: [n, h] z_i.
        size: texts at a time.

    Returns:
        [n, h], of the model's type.
    """
    body = {name: tensor.detach() for name, tensor in model.named_parameters()}
    example = next(iter(body.values()))
    gradient = {name: torch.zeros_like(tensor) for name, tensor in body.items()}
    order = np.argsort(texts.lengths, kind="stable")
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    tracked = {name: tensor.requires_grad_() for name, tensor in body.items()}
    for chosen in parts:
        tokens, lengths, seconds = tensors(texts.take(chosen), str(example.device))
        phi = feature_map(model, lengths, seconds)(tracked, tokens)
        weights = pulled[chosen].to(phi)
        found = torch.autograd.grad(phi, list(tracked.values()), weights, materialize_grads=True)
        for total, part in zip(gradient.values(), found, strict=True):
            total.add_(part)
    moved = torch.empty_like(pulled, dtype=example.dtype, device=example.device)
    fixed = {name: tensor.detach() for name, tensor in body.items()}
    with warnings.catch_warnings():
        # PyTorch's own rules for forward mode go through its torch.jit, which it calls deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        for chosen in parts:
            tokens, lengths, seconds = tensors(texts.take(chosen), str(example.device))
            phi_of = feature_map(model, lengths, seconds)
            pushed = torch.func.jvp(partial(_swapped, phi_of, tokens), (fixed,), (gradient,))
            moved[chosen] = pushed[1]
    return moved


def _swapped(phi: FeatureMap, tokens: Tensor, body: dict[str, Tensor]) -> Tensor:
    return phi(body, tokens)
