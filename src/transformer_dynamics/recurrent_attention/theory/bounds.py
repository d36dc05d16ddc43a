"""Bounds of spectral norms: Proposition 5.1, its limit eta -> infinity, and that of attention."""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.errors import InputError
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    Weights,
    after_blocks,
    attention,
    attention_jacobian,
    columns,
    itrsa_step,
    normalisation_jacobian,
    rows,
)


class Bounded(NamedTuple):
    """A spectral norm, and what is said to be no less."""

    norm: Tensor
    """[...] |J|_2."""
    bound: Tensor
    """[...]."""


def spectral_norm(matrix: Tensor) -> Tensor:
    """[...] largest singular value of matrices [..., n, n]."""
    norm: Tensor = torch.linalg.matrix_norm(matrix, ord=2)
    return norm


def proposition_5_1(tokens: Tensor, weights: Weights, heads: int) -> Bounded:
    """|J|_2 <= (max|gamma|/R)(1 + |eta| |J_MSA|_2) for |x_i + eta DX_i| >= R, a step of ItrSA.

    Args:
        tokens: [..., S, D].
        weights: those of `itrsa_step` with `gamma`.
        heads: H.
    """
    update = weights["inputs"] + attention(tokens, weights, heads)
    ahead = tokens + weights["eta"][..., None, None] * update
    radius = torch.linalg.vector_norm(ahead, dim=-1).amin(dim=-1)
    inner = spectral_norm(attention_jacobian(tokens, weights, heads))
    largest = weights["gamma"].abs().amax(dim=-1)
    bound = largest / radius * (1 + weights["eta"].abs() * inner)
    return Bounded(spectral_norm(itrsa_step(tokens, weights, heads).jacobian), bound)


def large_step_bound(tokens: Tensor, weights: Weights, heads: int) -> Bounded:
    """|J|_2 <= max|gamma| (1 + eta |J_MSA|_2)/(eta e - max|gamma|), if |DX_i| >= e for all i.

    It tends to max|gamma| |J_MSA|_2/e for eta -> infinity. R of Proposition 5.1 is at least the
    bound's denominator as X is an output of RMSNorm, so that no token is longer than max|gamma|.

    Args:
        tokens: [..., S, D] an output of RMSNorm.
        weights: those of `itrsa_step` with `gamma`.
        heads: H.

    Raises:
        InputError: if eta is not above max|gamma|/e, where it says nothing.
    """
    update = weights["inputs"] + attention(tokens, weights, heads)
    shortest = torch.linalg.vector_norm(update, dim=-1).amin(dim=-1)
    largest, eta = weights["gamma"].abs().amax(dim=-1), weights["eta"]
    if not bool((eta * shortest > largest).all()):
        raise InputError("the bound for large steps needs eta > max|gamma|/e")
    inner = spectral_norm(attention_jacobian(tokens, weights, heads))
    bound = largest * (1 + eta * inner) / (eta * shortest - largest)
    return Bounded(spectral_norm(itrsa_step(tokens, weights, heads).jacobian), bound)


def large_step_limit(tokens: Tensor, weights: Weights, heads: int) -> Tensor:
    """|blockdiag_i(diag(gamma) (Id - n_i n_i^T)/|DX_i|) J_MSA|_2, the norm for eta -> infinity.

    n_i = DX_i/|DX_i|.

    Args:
        tokens: [..., S, D].
        weights: those of `itrsa_step` with `gamma`.
        heads: H.
    """
    update = weights["inputs"] + attention(tokens, weights, heads)
    blocks = normalisation_jacobian(update, gamma=weights["gamma"])
    return spectral_norm(after_blocks(blocks, attention_jacobian(tokens, weights, heads)))


def attention_bound(tokens: Tensor, weights: Weights, heads: int, *, printed: bool) -> Bounded:
    """|J_MSA|_2 <= sum_h sqrt3 |W^O_h| |W^V_h| sqrt(q_h r^4 (S+1) + S), if |x_i| <= r for all i.

    As printed (Eq. 15 of the first version, after Castin et al.) q_h = |beta W^Q_h W^K_h^T|_2,
    which is false (erratum E2); with its square it is true: the parts of the Jacobian through the
    value, the query and the key are at most sqrt S, q r^2 and q r^2 sqrt S with the unsquared norm
    q, and (u + v + w)^2 <= 3 (u^2 + v^2 + w^2).

    Args:
        tokens: [..., S, D].
        weights: those of `attention`.
        heads: H.
        printed: whether as printed.
    """
    beta = (tokens.shape[-1] / heads) ** -0.5
    radius = torch.linalg.vector_norm(tokens, dim=-1).amax(dim=-1).unsqueeze(-1)
    products = columns(weights["query"], heads) @ columns(weights["key"], heads).mT
    coupling = beta * spectral_norm(products)
    count = tokens.shape[-2]
    inner = (coupling if printed else coupling**2) * radius**4 * (count + 1) + count
    outer = spectral_norm(rows(weights["output"], heads)) * spectral_norm(
        columns(weights["value"], heads)
    )
    bound = (3**0.5 * outer * inner.sqrt()).sum(dim=-1)
    return Bounded(spectral_norm(attention_jacobian(tokens, weights, heads)), bound)
