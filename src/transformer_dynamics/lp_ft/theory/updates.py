"""One epoch of fine-tuning, linearised, beside real steps of gradient descent (Prop. 4.1).

    (1) f^FT(x) - f_0(x)     = eta sum_i (P + F)(x, x_i) delta_i
    (2) phi^FT(x) - phi_0(x) = eta sum_i Theta^phi(x, x_i) V_0^T delta_i
    delta_i = e_{y_i} - softmax(f_0(x_i))

The loss is a sum over samples: the paper drops 1/N. Index 0 is the start of the epoch, which is one
step on all samples. A real step differs by O(eta^2), so by O(eta) of itself. Arguments are f_0 as
`network`, training inputs x_i as `train` [N, ...], their classes as `labels` [N], and inputs x
[n, ...].
"""

import torch
from torch import Tensor

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.lp_ft.theory.kernel import (
    apply_kernel,
    feature_jacobian,
    feature_kernel,
    flatten_jacobian,
    kernel_parts,
)
from transformer_dynamics.lp_ft.theory.networks import Network


def prediction_errors(logits: Tensor, labels: Tensor) -> Tensor:
    """Return delta_i = e_{y_i} - softmax(f(x_i)), [n, C]; each sums to 0."""
    one_hot = torch.nn.functional.one_hot(labels, logits.shape[-1]).to(logits)
    return one_hot - torch.softmax(logits, -1)


def logit_change(network: Network, train: Tensor, labels: Tensor, inputs: Tensor) -> Tensor:
    """Return the change of logits by (1) for eta = 1, [n, C]."""
    p, f = kernel_parts(network, inputs, train)
    return apply_kernel(p + f, prediction_errors(network.logits(train), labels))


def feature_change(network: Network, train: Tensor, labels: Tensor, inputs: Tensor) -> Tensor:
    """Return the change of features by (2) for eta = 1, [n, h]."""
    first, second = (
        flatten_jacobian(feature_jacobian(network.map, network.body, x)) for x in (inputs, train)
    )
    delta = prediction_errors(network.logits(train), labels)
    return apply_kernel(feature_kernel(first, second), delta @ network.head.weight)


def summed_loss(network: Network, train: Tensor, labels: Tensor) -> Tensor:
    """Return sum_i CE(f(x_i), y_i), in nats."""
    return torch.nn.functional.cross_entropy(network.logits(train), labels, reduction="sum")


def descend(network: Network, train: Tensor, labels: Tensor, eta: float, steps: int = 1) -> Network:
    """Return the network after real full-batch steps of gradient descent on the summed loss.

    All parameters take them; the given network is not changed.
    """

    def loss(body: dict[str, Tensor], head: Head) -> Tensor:
        return summed_loss(Network(network.map, body, head), train, labels)

    body, head = network.body, network.head
    for _ in range(steps):
        for_body, for_head = torch.func.grad(loss, argnums=(0, 1))(body, head)
        body = {name: tensor - eta * for_body[name] for name, tensor in body.items()}
        head = Head(head.weight - eta * for_head.weight, head.bias - eta * for_head.bias)
    return Network(network.map, body, head)
