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

from transformer_dynamics.gradient_heterogeneity.settings.training import UpdateRule

Tensors = dict[str, Tensor]
"""Parameters, gradients or averages, by name."""
GUARD = 1e-6
"""Number that PyTorch's clipping adds to the norm."""


class Moments(NamedTuple):
    """Averages that an optimiser keeps between steps."""

    step: int
    """Number t of steps that are done."""
    first: Tensors
    """Average of gradients by name of a parameter: v of SGD-m and Signum, m of Adam."""
    second: Tensors
    """Average of squared gradients by name of a parameter: s of RMSProp and Adam."""


def initial_moments(rule: UpdateRule, parameters: Mapping[str, Tensor]) -> Moments:
    """Return the averages before the first step, which are zero.

    Raises an `InputError` for an unknown optimiser, or constants that are none.
    """
    rule.check()
    has_first = rule.name in {"sgd_momentum", "signum", "adam"}
    has_second = rule.name in {"rmsprop", "adam"}
    return Moments(
        0,
        {name: torch.zeros_like(tensor) for name, tensor in parameters.items() if has_first},
        {name: torch.zeros_like(tensor) for name, tensor in parameters.items() if has_second},
    )


def update_parameters(
    rule: UpdateRule,
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    moments: Moments,
    eta: float | Mapping[str, float],
) -> Moments:
    """Take one step in place, as most of its cost is memory, and return the averages after it.

    Parameters and the averages before change. `eta` is the rate, or that of every parameter.
    """
    step = moments.step + 1
    for name, tensor in parameters.items():
        g = gradients[name]
        rate = eta[name] if isinstance(eta, Mapping) else eta
        if name in moments.first:
            _update_average(rule, moments.first[name], g)
        if name in moments.second:
            moments.second[name].mul_(rule.second).addcmul_(g, g, value=1 - rule.second)
        if rule.weight_decay:
            tensor.mul_(1 - rate * rule.weight_decay)
        v = moments.first.get(name, g)
        if rule.name in {"rmsprop", "adam"}:
            adaptive = rule.name == "adam"
            first_left = 1 - rule.momentum**step if adaptive else 1.0
            second_left = 1 - rule.second**step if adaptive else 1.0
            length = moments.second[name].sqrt().div_(second_left**0.5).add_(rule.epsilon)
            tensor.addcdiv_(v, length, value=-(rate / first_left))
        else:
            signed = rule.name in {"signsgd", "signum"}
            tensor.add_(torch.sign(v) if signed else v, alpha=-rate)
    return Moments(step, moments.first, moments.second)


def _update_average(rule: UpdateRule, average: Tensor, gradient: Tensor) -> None:
    """Add one more gradient to the average, in place."""
    if rule.name == "adam":
        average.lerp_(gradient, 1 - rule.momentum)
    else:
        share = 1 - rule.momentum if rule.name == "signum" else 1.0
        average.mul_(rule.momentum).add_(gradient, alpha=share)


def update_copies(
    rule: UpdateRule,
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    moments: Moments,
    eta: float | Mapping[str, float],
) -> tuple[Tensors, Moments]:
    """Take one step of copies, and return theta and the averages; see `update_parameters`."""
    moved, first, second = (
        {name: tensor.clone() for name, tensor in tensors.items()}
        for tensors in (parameters, moments.first, moments.second)
    )
    return moved, update_parameters(
        rule, moved, gradients, Moments(moments.step, first, second), eta
    )


def clip_gradients(
    gradients: Mapping[str, Tensor], most: float, *, seeds: bool = False
) -> tuple[Tensors, Tensor]:
    """Multiply gradients by min(c/(||g|| + 1e-6), 1), c = `most`, as PyTorch does.

    Returns them and their norm before clipping, [] or [seeds]. With `seeds`, the first axis of all
    tensors is one of seeds, each with a norm of its own.
    """
    kept = 1 if seeds else 0
    norms = [torch.linalg.vector_norm(g.flatten(kept), dim=-1) for g in gradients.values()]
    norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    factor = torch.clamp(most / (norm + GUARD), max=1.0)
    return {
        name: g * factor.reshape(factor.shape + (1,) * (g.dim() - kept))
        for name, g in gradients.items()
    }, norm
