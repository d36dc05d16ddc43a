"""Eq. (3): change of the loss with the length of one row of the head (Sec. 4.4).

For a fixed k, the summed loss and no bias, tau_ki being the angle between phi(x_i) and v_k,

    dL/d||v_k|| = sum_i (sigma_k(f(x_i)) - 1[y_i = k]) ||phi(x_i)|| cos tau_ki       (3)

Printed, the right-hand side is summed over k, too, so that it is sum_k dL/d||v_k||. Arguments are V
as `weight` [C, h], no row zero, `features` phi(x_i) [n, h], none zero, and `labels` y_i [n]; f =
V phi.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from transformer_dynamics.lp_ft.theory.updates import prediction_errors

Errors: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Errors [n, C] of logits [n, C] for labels [n]: the negative derivative of the loss by logits."""


def squared_errors(logits: Tensor, labels: Tensor) -> Tensor:
    """Return e_{y_i} - f(x_i), [n, C]: the errors of the loss sum_i ||f(x_i) - e_{y_i}||^2/2."""
    return torch.nn.functional.one_hot(labels, logits.shape[-1]) - logits


def norm_gradient(weight: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    """Return dL/d||v_k|| by (3) for each k, [C], in units of the loss per unit of length."""
    residual = -prediction_errors(features @ weight.T, labels)
    directions = weight / torch.linalg.vector_norm(weight, dim=1, keepdim=True)
    lengths = torch.linalg.vector_norm(features, dim=1, keepdim=True)
    cosines = torch.div(features @ directions.T, lengths)
    return torch.sum(residual * lengths * cosines, dim=0)


def probing_path(
    weight: Tensor,
    features: Tensor,
    labels: Tensor,
    eta: float,
    steps: int,
    errors: Errors = prediction_errors,
) -> Tensor:
    """Return heads V along linear probing by gradient descent, without a bias.

    They are [steps + 1, C, h], before the first step and after each. The loss is summed over
    samples; `errors` are those of the loss.
    """
    heads = [weight]
    for _ in range(steps):
        weight = weight + eta * errors(features @ weight.T, labels).T @ features
        heads.append(weight)
    return torch.stack(heads)
