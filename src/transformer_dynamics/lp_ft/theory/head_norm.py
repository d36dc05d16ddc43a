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
    lengths = torch.linalg.vector_norm(features, dim=1)
    return torch.sum(residual * lengths[:, None] * cosines(weight, features), dim=0)


def cosines(weight: Tensor, features: Tensor) -> Tensor:
    """Return the cosines of the angles tau_ki, [n, C]."""
    directions = weight / torch.linalg.vector_norm(weight, dim=1, keepdim=True)
    lengths = torch.linalg.vector_norm(features, dim=1, keepdim=True)
    return torch.div(features @ directions.T, lengths)


def sufficient_condition(weight: Tensor, features: Tensor, labels: Tensor) -> Tensor:
    """Return True for each k that meets the paper's sufficient condition for dL/d||v_k|| < 0.

    The condition is cos tau_ki > 0 for all samples of class k and cos tau_ki < 0 for all others.
    """
    own = torch.nn.functional.one_hot(labels, len(weight)).bool()
    angle = cosines(weight, features)
    return torch.where(own, angle > 0, angle < 0).all(0)


def probing_path(
    weight: Tensor,
    features: Tensor,
    labels: Tensor,
    eta: float,
    steps: int,
    errors: Errors = prediction_errors,
) -> Tensor:
    """Return heads V along linear probing by gradient descent, without a bias.

    The loss is summed over samples.

    Args:
        weight: V at the start.
        features: these do not change.
        labels: classes.
        eta: learning rate.
        steps: number of steps.
        errors: those of the loss.

    Returns:
        [steps + 1, C, h] V before the first step and after each.
    """
    heads = [weight]
    for _ in range(steps):
        weight = weight + eta * errors(features @ weight.T, labels).T @ features
        heads.append(weight)
    return torch.stack(heads)
