"""The six optimisers of the released code, as functions of dictionaries of tensors.

g is the gradient, eta the rate, t = 1, 2, ... the step:

    SGD        theta -= eta g
    SGD-m      v = mu v + g (v = g at t = 1),  theta -= eta v
    SignSGD    theta -= eta sign g
    Signum     v = mu v + (1 - mu) g,  theta -= eta sign v
    RMSProp    s = a s + (1 - a) g^2,  theta -= eta g/(sqrt s + eps)
    Adam       m = b_1 m + (1 - b_1) g,  s = b_2 s + (1 - b_2) g^2,
               theta -= eta m/(1 - b_1^t)/(sqrt(s/(1 - b_2^t)) + eps)

With weight decay, theta is first multiplied by 1 - eta lambda, apart from gradients, as in AdamW.
Those of PyTorch's have its order of operations, so that they agree to the bit. All is done entry by
entry, so that tensors may have a leading axis of seeds; only clipping must be told of it.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.gradient_heterogeneity.optimizer_settings import Optimizer

Tensors = dict[str, Tensor]
"""Parameters, gradients or averages, by name."""
GUARD = 1e-6
"""What PyTorch's clipping adds to the norm."""


class State(NamedTuple):
    """What an optimiser keeps between steps."""

    step: int
    """t, of steps done."""
    first: Tensors
    """v of SGD-m and Signum, m of Adam."""
    second: Tensors
    """s of RMSProp and Adam."""


def begin(optimizer: Optimizer, parameters: Mapping[str, Tensor]) -> State:
    """The state before the first step: averages are zero.

    Args:
        optimizer: which.
        parameters: theta.

    Raises:
        InputError: for what is no optimiser.
    """
    optimizer.check()
    has_first = optimizer.name in {"sgd_momentum", "signum", "adam"}
    has_second = optimizer.name in {"rmsprop", "adam"}
    return State(
        0,
        {name: torch.zeros_like(tensor) for name, tensor in parameters.items() if has_first},
        {name: torch.zeros_like(tensor) for name, tensor in parameters.items() if has_second},
    )


def move(
    optimizer: Optimizer,
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: State,
    eta: float | Mapping[str, float],
) -> State:
    """One step, in place: most of what it costs is memory.

    Args:
        optimizer: which.
        parameters: theta, which changes.
        gradients: g of every parameter.
        state: of the step before, whose averages change.
        eta: the rate, or that of every parameter.

    Returns:
        The state after the step.
    """
    step = state.step + 1
    for name, tensor in parameters.items():
        g = gradients[name]
        rate = eta[name] if isinstance(eta, Mapping) else eta
        if name in state.first:
            _average(optimizer, state.first[name], g)
        if name in state.second:
            state.second[name].mul_(optimizer.second).addcmul_(g, g, value=1 - optimizer.second)
        if optimizer.weight_decay:
            tensor.mul_(1 - rate * optimizer.weight_decay)
        v = state.first.get(name, g)
        if optimizer.name in {"rmsprop", "adam"}:
            adaptive = optimizer.name == "adam"
            first_left = 1 - optimizer.momentum**step if adaptive else 1.0
            second_left = 1 - optimizer.second**step if adaptive else 1.0
            length = state.second[name].sqrt().div_(second_left**0.5).add_(optimizer.epsilon)
            tensor.addcdiv_(v, length, value=-(rate / first_left))
        else:
            signed = optimizer.name in {"signsgd", "signum"}
            tensor.add_(torch.sign(v) if signed else v, alpha=-rate)
    return State(step, state.first, state.second)


def _average(optimizer: Optimizer, average: Tensor, gradient: Tensor) -> None:
    """The average of gradients after one more of them, in place."""
    if optimizer.name == "adam":
        average.lerp_(gradient, 1 - optimizer.momentum)
    else:
        share = 1 - optimizer.momentum if optimizer.name == "signum" else 1.0
        average.mul_(optimizer.momentum).add_(gradient, alpha=share)


def advance(
    optimizer: Optimizer,
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: State,
    eta: float | Mapping[str, float],
) -> tuple[Tensors, State]:
    """As `move`, of copies: theta and the state after the step, while those before it stay."""
    moved, first, second = (
        {name: tensor.clone() for name, tensor in tensors.items()}
        for tensors in (parameters, state.first, state.second)
    )
    return moved, move(optimizer, moved, gradients, State(state.step, first, second), eta)


def clipped(
    gradients: Mapping[str, Tensor], most: float, *, seeds: bool = False
) -> tuple[Tensors, Tensor]:
    """Gradients times min(c/(||g|| + 1e-6), 1), as PyTorch's, and ||g||.

    Args:
        gradients: g.
        most: c.
        seeds: whether the first axis of all tensors is one of seeds, each with a norm of its own.

    Returns:
        The gradients and their norm before clipping, [] or [seeds].
    """
    kept = 1 if seeds else 0
    norms = [torch.linalg.vector_norm(g.flatten(kept), dim=-1) for g in gradients.values()]
    norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    factor = torch.clamp(most / (norm + GUARD), max=1.0)
    return {
        name: g * factor.reshape(factor.shape + (1,) * (g.dim() - kept))
        for name, g in gradients.items()
    }, norm
