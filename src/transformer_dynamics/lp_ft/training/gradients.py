"""Gradients of features by the parameters of an encoder's modules, one sample at a time.

For a direction u in feature space and a linear layer with inputs a_t and outputs at positions t,

    d(u . phi(x))/dW = sum_t b_t a_t^T,   b_t = d(u . phi(x))/d(output at t)

so that a_t and b_t stand for a whole matrix. A sample is run alone: then what a module does belongs
to this sample, even tables whose rows all samples of a batch would share, and nothing is padded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from replication.base.errors import InputError
from transformer_dynamics.encoders.model import features, tensors
from transformer_dynamics.encoders.tokens import Tokens


class Factors(NamedTuple):
    """Factors of the gradients of one module, for one sample."""

    inputs: Tensor
    """[R, d_in] Inputs a_t; of a table [R], the rows that are looked up; of a normalisation [R, d],
    what it has normalised. Positions without a gradient are left out."""
    outputs: Tensor
    """[Q, R, d_out] Gradients b_t by the outputs, along each direction."""


def parametric_modules(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules with parameters of their own, in the order of their definition.

    Raises an `InputError` if one is neither linear, nor a normalisation, nor a table.
    """
    found = {
        name: module
        for name, module in model.named_modules()
        if next(module.parameters(recurse=False), None) is not None
    }
    for name, module in found.items():
        if not isinstance(module, nn.Linear | nn.LayerNorm | nn.Embedding):
            raise InputError(
                f"the encoder's {name} is a {type(module).__name__}, whose gradients are not known"
            )
    return found


def module_widths(module: nn.Module) -> tuple[int, int]:
    """Return how many numbers a module's input and output have at one position."""
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    if isinstance(module, nn.Embedding):
        return 1, module.embedding_dim
    width = int(np.prod(module.normalized_shape)) if isinstance(module, nn.LayerNorm) else 0
    return width, width


def gradient_factors(
    model: nn.Module, texts: Tokens, directions: Tensor, names: Sequence[str]
) -> Iterator[dict[str, Factors]]:
    """Yield for each sample the factors of its gradients along every direction u [Q, h], by name.

    The model is an encoder in eval mode, of the factors' type; `names` are its modules.
    """
    device = str(directions.device)
    with _record_calls(model, names) as calls:
        for index in range(len(texts.labels)):
            calls.clear()
            phi = features(model, *tensors(texts.take(np.array([index])), device))
            tracked = [output for _, _, output in calls]
            found = torch.autograd.grad(
                phi, tracked, directions[:, None], is_grads_batched=True, allow_unused=True
            )
            whole: dict[str, Factors] = {}
            for (name, given, output), gradient in zip(calls, found, strict=True):
                unused = output.new_zeros(len(directions), *output.shape)
                pulled = unused if gradient is None else gradient
                new = _position_factors(model.get_submodule(name), given, pulled)
                # A module that is called twice has the positions of both calls.
                old = whole.get(name)
                whole[name] = new if old is None else _join_factors(old, new)
            yield whole


@contextmanager
def _record_calls(
    model: nn.Module, names: Sequence[str]
) -> Iterator[list[tuple[str, Tensor, Tensor]]]:
    """Record inputs and outputs of modules; outputs are tracked, and no parameter is."""
    calls: list[tuple[str, Tensor, Tensor]] = []

    def noting(name: str) -> "torch.utils.hooks.RemovableHandle":
        def note(_: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
            if not output.requires_grad:
                output.requires_grad_()
            calls.append((name, given[0].detach(), output))

        return model.get_submodule(name).register_forward_hook(note)

    trained = {name: tensor.requires_grad for name, tensor in model.named_parameters()}
    model.requires_grad_(False)
    handles = [noting(name) for name in names]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()
        for name, tensor in model.named_parameters():
            tensor.requires_grad_(trained[name])


def _position_factors(module: nn.Module, given: Tensor, pulled: Tensor) -> Factors:
    if isinstance(module, nn.LayerNorm):
        given = nn.functional.layer_norm(given, module.normalized_shape, eps=module.eps)
    if isinstance(module, nn.Embedding):
        inputs = given.flatten()
    else:
        inputs = given.reshape(-1, given.shape[-1])
    outputs = pulled.reshape(len(pulled), -1, pulled.shape[-1])
    used = (outputs != 0).any(dim=2).any(dim=0)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        # This row is never trained.
        used &= inputs != module.padding_idx
    return Factors(inputs, outputs) if used.all() else Factors(inputs[used], outputs[:, used])


def _join_factors(first: Factors, second: Factors) -> Factors:
    return Factors(
        torch.cat([first.inputs, second.inputs]),
        torch.cat([first.outputs, second.outputs], dim=1),
    )
