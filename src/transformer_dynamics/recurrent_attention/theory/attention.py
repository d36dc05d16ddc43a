"""Multi-head self-attention (1)-(2), written out: softmax(beta Q K^T) V.

Functions take tokens X [..., S, D], weights, H heads and the inverse temperature beta. Weights may
have leading axes, such as that of seeds; tokens have the same ones, and any others between them and
their last two. PyTorch's fused attention has no forward-mode derivative on CPUs.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Weights(NamedTuple):
    """Matrices that attention multiplies tokens by."""

    query: Tensor
    """Matrix W^Q [..., D, H d] of queries, a block of columns per head."""
    key: Tensor
    """Matrix W^K [..., D, H d] of keys, a block of columns per head."""
    value: Tensor
    """Matrix W^V [..., D, H d'] of values, a block of columns per head."""
    output: Tensor
    """Matrix W^O [..., H d', D] of the output, a block of rows per head."""


def project_tokens(tokens: Tensor, weight: Tensor) -> Tensor:
    """Return X W of tokens [..., *, S, D] and weights [..., D, E], by one product per matrix."""
    lead = weight.ndim - 2
    return (tokens.flatten(lead, -2) @ weight).reshape(*tokens.shape[:-1], weight.shape[-1])


def attention_probabilities(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """Return P_h = softmax(beta X W^Q_h W^K_h^T X^T) [..., H, S, S]."""
    query, key = (
        _split_heads(project_tokens(tokens, weight), heads)
        for weight in (weights.query, weights.key)
    )
    return torch.softmax(beta * query @ key.mT, dim=-1)


def attention(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """Return MSA(X) = Concat(P_1 X W^V_1, ..., P_H X W^V_H) W^O (1) [..., S, D]."""
    value = _split_heads(project_tokens(tokens, weights.value), heads)
    mixed = attention_probabilities(tokens, weights, heads, beta) @ value
    return project_tokens(mixed.transpose(-3, -2).flatten(-2), weights.output)


def _split_heads(tokens: Tensor, heads: int) -> Tensor:
    """Return tokens [..., S, H d] by head, [..., H, S, d]."""
    return tokens.reshape(*tokens.shape[:-1], heads, -1).transpose(-3, -2)
