"""Multi-head self-attention (1)-(2), written out: softmax(beta Q K^T) V.

Weights may have leading axes, such as that of seeds; tokens have the same ones, and any others
between them and their last two. PyTorch's fused attention has no forward-mode derivative on CPUs.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Weights(NamedTuple):
    """What attention multiplies tokens by."""

    query: Tensor
    """W^Q [..., D, H d], a block of columns per head."""
    key: Tensor
    """W^K, of the same shape."""
    value: Tensor
    """W^V [..., D, H d'], a block of columns per head."""
    output: Tensor
    """W^O [..., H d', D], a block of rows per head."""


def project(tokens: Tensor, weight: Tensor) -> Tensor:
    """X W, in one product per matrix.

    Args:
        tokens: X [..., *, S, D].
        weight: W [..., D, E].
    """
    lead = weight.ndim - 2
    return (tokens.flatten(lead, -2) @ weight).reshape(*tokens.shape[:-1], weight.shape[-1])


def probabilities(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """P_h = softmax(beta X W^Q_h W^K_h^T X^T).

    Args:
        tokens: X [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.

    Returns:
        [..., H, S, S], rows of which sum to one.
    """
    query, key = (_split(project(tokens, weight), heads) for weight in (weights.query, weights.key))
    return torch.softmax(beta * query @ key.mT, dim=-1)


def attention(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """MSA(X) = Concat(P_1 X W^V_1, ..., P_H X W^V_H) W^O (1).

    Args:
        tokens: X [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.

    Returns:
        [..., S, D].
    """
    value = _split(project(tokens, weights.value), heads)
    mixed = probabilities(tokens, weights, heads, beta) @ value
    return project(mixed.transpose(-3, -2).flatten(-2), weights.output)


def _split(tokens: Tensor, heads: int) -> Tensor:
    """[..., S, H d] as [..., H, S, d]."""
    return tokens.reshape(*tokens.shape[:-1], heads, -1).transpose(-3, -2)
