"""The FT ratio of an encoder without a kernel: one gradient and one Jacobian-vector product.

As `theory.ft_ratio` has it, batch by batch. The product also says how far a step of gradient
descent moves features, eta ||J(x) g||, by Eq. (2).
"""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import feature_map, tensors
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.theory.ft_ratio import Terms, p_term
from transformer_dynamics.lp_ft.theory.networks import FeatureMap
from transformer_dynamics.lp_ft.theory.updates import prediction_errors


class LinearStep(NamedTuple):
    """Linearised step of gradient descent on the summed loss, for eta = 1."""

    terms: Terms
    """Parts of the change of the logits, [m, C] each, in float64."""
    features: Tensor
    """[m, h] Change of features, in float64."""
    errors: Tensor
    """[n, C] Errors delta_i of the predictions before the step."""


def linear_step(
    model: nn.Module,
    texts: Tokens,
    known: Tensor,
    head: Head,
    at: NDArray[np.int64],
    size: int,
) -> LinearStep:
    """Compute the linearised step on all samples, and its changes at some of them.

    The model is an encoder in eval mode, whose type is that of the products. Texts x_i [n] are
    summed over; `known` are their features [n, h], float64, as the head is. `at` [m] are the places
    of x among them, `size` the number of texts at a time.
    """
    delta = prediction_errors(head.logits(known), torch.from_numpy(texts.labels).to(known.device))
    moved = push_gradient(model, texts, delta @ head.weight, at, size).to(known)
    return LinearStep(Terms(p_term(known[at], known, delta), moved @ head.weight.T), moved, delta)


def push_gradient(
    model: nn.Module, texts: Tokens, pulled: Tensor, at: NDArray[np.int64], size: int
) -> Tensor:
    """Compute J(x) g [m, h] with g = sum_i J_i^T z_i, for x among the samples.

    The model is an encoder in eval mode, whose type is that of the result. Texts are x_i [n],
    `pulled` z_i [n, h], `at` [m] the places of x among them, `size` the number of texts at a time.
    """
    body = {name: tensor.detach() for name, tensor in model.named_parameters()}
    example = next(iter(body.values()))
    gradient = {name: torch.zeros_like(tensor) for name, tensor in body.items()}
    tracked = {name: tensor.requires_grad_() for name, tensor in body.items()}
    for chosen in _batches(texts, size):
        tokens, lengths, seconds = tensors(texts.take(chosen), str(example.device))
        phi = feature_map(model, lengths, seconds)(tracked, tokens)
        weights = pulled[chosen].to(phi)
        found = torch.autograd.grad(phi, list(tracked.values()), weights, materialize_grads=True)
        for total, part in zip(gradient.values(), found, strict=True):
            total.add_(part)
    of = texts.take(at)
    moved = example.new_empty(len(at), pulled.shape[1])
    fixed = {name: tensor.detach() for name, tensor in body.items()}
    with warnings.catch_warnings():
        # PyTorch's own rules for forward mode go through its torch.jit, which it calls deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        for chosen in _batches(of, size):
            tokens, lengths, seconds = tensors(of.take(chosen), str(example.device))
            phi_of = feature_map(model, lengths, seconds)
            pushed = torch.func.jvp(partial(_swap_arguments, phi_of, tokens), (fixed,), (gradient,))
            moved[chosen] = pushed[1]
    return moved


def _batches(texts: Tokens, size: int) -> list[NDArray[np.int64]]:
    """Return places of texts of like lengths, batch by batch."""
    order = np.argsort(texts.lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def _swap_arguments(phi: FeatureMap, tokens: Tensor, body: dict[str, Tensor]) -> Tensor:
    return phi(body, tokens)
