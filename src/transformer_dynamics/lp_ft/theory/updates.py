"""One epoch of fine-tuning, linearised, beside real steps of gradient descent (Prop. 4.1).

    (1) f^FT(x) - f_0(x)     = eta sum_i (P + F)(x, x_i) delta_i
    (2) phi^FT(x) - phi_0(x) = eta sum_i Theta^phi(x, x_i) V_0^T delta_i
    delta_i = e_{y_i} - softmax(f_0(x_i))

The loss is a sum over samples: the paper drops 1/N. Index 0 is the start of the epoch, which is one
step on all samples. A real step differs by O(eta^2), so by O(eta) of itself.
"""

import torch
from torch import Tensor

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory.kernel import (
    applied,
    feature_jacobian,
    feature_kernel,
    flattened,
    parts,
)
from transformer_dynamics.lp_ft.theory.networks import Network


def errors(logits: Tensor, labels: Tensor) -> Tensor:
    """delta_i = e_{y_i} - softmax(f(x_i)).

    Args:
        logits: [n, C] f.
        labels: [n] y.

    Returns:
        [n, C]; each sums to 0.
    """
    one_hot = torch.nn.functional.one_hot(labels, logits.shape[-1]).to(logits)
    return one_hot - torch.softmax(logits, -1)


def logit_change(network: Network, train: Tensor, labels: Tensor, inputs: Tensor) -> Tensor:
    """(1) for eta = 1.

    Args:
        network: f_0.
        train: [N, ...] x_i.
        labels: [N] y_i.
        inputs: [n, ...] x.

    Returns:
        [n, C].
    """
    p, f = parts(network, inputs, train)
    return applied(p + f, errors(network.logits(train), labels))


def feature_change(network: Network, train: Tensor, labels: Tensor, inputs: Tensor) -> Tensor:
    """(2) for eta = 1.

    Args:
        network: f_0.
        train: [N, ...] x_i.
        labels: [N] y_i.
        inputs: [n, ...] x.

    Returns:
        [n, h].
    """
    first, second = (
        flattened(feature_jacobian(network.map, network.body, x)) for x in (inputs, train)
    )
    delta = errors(network.logits(train), labels)
    return applied(feature_kernel(first, second), delta @ network.head.weight)


def summed_loss(network: Network, train: Tensor, labels: Tensor) -> Tensor:
    """sum_i CE(f(x_i), y_i), in nats."""
    return torch.nn.functional.cross_entropy(network.logits(train), labels, reduction="sum")


def descended(
    network: Network, train: Tensor, labels: Tensor, eta: float, steps: int = 1
) -> Network:
    """The network after real steps of gradient descent on all parameters.

    Args:
        network: where to start; it is not changed.
        train: [N, ...] x_i.
        labels: [N] y_i.
        eta: learning rate of the summed loss.
        steps: number of full-batch steps.

    Returns:
        The network after them.
    """

    def loss(body: dict[str, Tensor], head: Head) -> Tensor:
        return summed_loss(Network(network.map, body, head), train, labels)

    body, head = network.body, network.head
    for _ in range(steps):
        for_body, for_head = torch.func.grad(loss, argnums=(0, 1))(body, head)
        body = {name: tensor - eta * for_body[name] for name, tensor in body.items()}
        head = Head(head.weight - eta * for_head.weight, head.bias - eta * for_head.bias)
    return Network(network.map, body, head)
