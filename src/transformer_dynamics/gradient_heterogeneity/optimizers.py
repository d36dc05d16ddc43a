"""The six optimisers of the released code, as functions of dictionaries of tensors.

g is the gradient, eta the rate, t = 1, 2, ... the step:

    SGD        theta -= eta g
    SGD-m      v = mu v + g (v = g at t = 1),  theta -= eta v                        mu = .9
    SignSGD    theta -= eta sign g
    Signum     v = mu v + (1 - mu) g,  theta -= eta sign v                           mu = .9
    RMSProp    s = a s + (1 - a) g^2,  theta -= eta g/(sqrt s + eps)                 a = .99
    Adam       m = b_1 m + (1 - b_1) g,  s = b_2 s + (1 - b_2) g^2,                  b = .9, .999
               theta -= eta m/(1 - b_1^t)/(sqrt(s/(1 - b_2^t)) + eps)

Those of PyTorch's have its order of operations, so that they agree to the bit. All is done entry by
entry, so that tensors may have a leading axis of seeds; only clipping must be told of it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from replication.errors import InputError

Tensors = dict[str, Tensor]
"""Parameters, gradients or averages, by name."""
Name = Literal["sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam"]
"""Of an optimiser."""
NAMES: tuple[Name, ...] = ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")
"""All of them."""
CLIPPING = 1.0
"""The largest norm of a gradient, as released."""
GUARD = 1e-6
"""What PyTorch's clipping adds to the norm."""


class Optimizer(NamedTuple):
    """Which one, with the released constants."""

    name: Name
    """Which."""
    momentum: float = 0.9
    """Mu of SGD-m and Signum, b_1 of Adam."""
    second: float | None = None
    """A of RMSProp, .99 unless given, and b_2 of Adam, .999 unless given."""
    epsilon: float = 1e-8
    """Eps of RMSProp and Adam."""

    def check(self) -> None:
        """Refuse what is no optimiser.

        Raises:
            InputError: for an unknown name, for averages outside of [0, 1), for eps < 0.
        """
        if self.name not in NAMES:
            raise InputError(f"unknown optimiser {self.name}; known: {', '.join(NAMES)}")
        if not (0 <= self.momentum < 1 and 0 <= self.decay < 1 and self.epsilon >= 0):
            raise InputError(f"averages are in [0, 1) and eps is not negative: {self}")

    @property
    def decay(self) -> float:
        """A or b_2."""
        usual = 0.99 if self.name == "rmsprop" else 0.999
        return usual if self.second is None else self.second


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


def advance(
    optimizer: Optimizer,
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: State,
    eta: float,
) -> tuple[Tensors, State]:
    """One step.

    Args:
        optimizer: which.
        parameters: theta; it is not changed.
        gradients: g of every parameter.
        state: of the step before.
        eta: the rate.

    Returns:
        theta and the state after the step.
    """
    step = state.step + 1
    moved: Tensors = {}
    first: Tensors = {}
    second: Tensors = {}
    for name, tensor in parameters.items():
        g = gradients[name]
        if name in state.first:
            first[name] = _first(optimizer, state.first[name], g)
        if name in state.second:
            square = state.second[name] * optimizer.decay
            second[name] = square.addcmul_(g, g, value=1 - optimizer.decay)
        v = first.get(name, g)
        if optimizer.name in {"rmsprop", "adam"}:
            adaptive = optimizer.name == "adam"
            first_left = 1 - optimizer.momentum**step if adaptive else 1.0
            second_left = 1 - optimizer.decay**step if adaptive else 1.0
            length = (second[name].sqrt() / second_left**0.5).add_(optimizer.epsilon)
            moved[name] = tensor.addcdiv(v, length, value=-(eta / first_left))
        else:
            signed = optimizer.name in {"signsgd", "signum"}
            moved[name] = tensor.add(torch.sign(v) if signed else v, alpha=-eta)
    return moved, State(step, first, second)


def _first(optimizer: Optimizer, average: Tensor, gradient: Tensor) -> Tensor:
    """The average of gradients after one more of them."""
    if optimizer.name == "adam":
        return average.lerp(gradient, 1 - optimizer.momentum)
    share = 1 - optimizer.momentum if optimizer.name == "signum" else 1.0
    return (average * optimizer.momentum).add_(gradient, alpha=share)


def clipped(
    gradients: Mapping[str, Tensor], most: float = CLIPPING, *, seeds: bool = False
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
