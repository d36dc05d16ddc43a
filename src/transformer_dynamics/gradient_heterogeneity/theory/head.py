"""A linear head: its length, the part of it that softmax sees, and its gradient."""

from typing import NamedTuple

import torch
from torch import Tensor


class HeadNorms(NamedTuple):
    """Length of V, of the part that softmax does not see, and of the part that it sees."""

    total: Tensor
    """[...] Norm ||V||_F."""
    common: Tensor
    """[...] Norm sqrt C ||mean_k v_k|| of V with every row replaced by their mean."""
    centred: Tensor
    """[...] Norm ||V - mean_k v_k||_F; total^2 = common^2 + centred^2."""


def head_norms(weight: Tensor) -> HeadNorms:
    """Return the norms of V [..., C, h]."""
    mean = weight.mean(dim=-2, keepdim=True)
    return HeadNorms(
        torch.linalg.matrix_norm(weight),
        weight.shape[-2] ** 0.5 * torch.linalg.vector_norm(mean, dim=(-2, -1)),
        torch.linalg.matrix_norm(weight - mean),
    )


def head_gradient(
    weight: Tensor, bias: Tensor, features: Tensor, labels: Tensor
) -> dict[str, Tensor]:
    """Return the gradients of the mean cross-entropy: sum_i delta_i phi_i^T/m and sum_i delta_i/m.

    They are `weight` and `bias`, shaped as V [..., C, h] and b [..., C]; the sum over classes of
    each is zero. Features phi_i are [..., m, h], labels y_i [..., m].
    """
    logits = features @ weight.mT + bias.unsqueeze(-2)
    one_hot = torch.nn.functional.one_hot(labels, weight.shape[-2]).to(logits)
    residual = (torch.softmax(logits, dim=-1) - one_hot) / labels.shape[-1]
    return {"weight": residual.mT @ features, "bias": residual.sum(dim=-2)}
