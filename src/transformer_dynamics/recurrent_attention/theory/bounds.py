"""Bounds of spectral norms: Proposition 5.1, its limit eta -> infinity, and that of attention.

Steps are those of ItrSA: what they are made of is that of `jacobian.step`, and DX_i of a token is a
row of Y = C + MSA(X).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import Parameters, drive, scalar
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    after_blocks,
    attention_jacobian,
    columns,
    coupling,
    inverse_temperature,
    normalisation_jacobian,
    rows,
    step,
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


def shortest(tokens: Tensor) -> Tensor:
    """[...] min |x_i| of tokens [..., S, D]."""
    lengths: Tensor = torch.linalg.vector_norm(tokens, dim=-1)
    return lengths.amin(dim=-1)


def proposition_5_1(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Bounded:
    """|J|_2 <= (max|gamma|/R)(1 + |eta| |J_MSA|_2) for |x_i + eta DX_i| >= R."""
    eta, largest = parameters["eta"], parameters["gamma"].abs().amax(dim=-1)
    change = drive(model, weights, tokens, inputs)
    radius = shortest(tokens + scalar(eta, tokens) * change)
    inner = spectral_norm(_of_attention(model, weights, tokens))
    norm = spectral_norm(step(model, parameters, weights, tokens, inputs).jacobian)
    return Bounded(norm, largest / radius * (1 + eta.abs() * inner))


def large_step_bound(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Bounded:
    """|J|_2 <= max|gamma| (1 + eta |J_MSA|_2)/(eta e - max|gamma|), if |DX_i| >= e for all i.

    It tends to max|gamma| |J_MSA|_2/e for eta -> infinity. R of Proposition 5.1 is at least the
    bound's denominator as X is an output of RMSNorm, so that no token is longer than max|gamma|.

    Raises:
        InputError: if eta is not above max|gamma|/e, where it says nothing.
    """
    eta, largest = parameters["eta"], parameters["gamma"].abs().amax(dim=-1)
    least = shortest(drive(model, weights, tokens, inputs))
    if not bool((eta * least > largest).all()):
        raise InputError("the bound for large steps needs eta > max|gamma|/e")
    inner = spectral_norm(_of_attention(model, weights, tokens))
    norm = spectral_norm(step(model, parameters, weights, tokens, inputs).jacobian)
    return Bounded(norm, largest * (1 + eta * inner) / (eta * least - largest))


def large_step_limit(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Tensor:
    """|blockdiag_i(diag(gamma) (Id - n_i n_i^T)/|DX_i|) J_MSA|_2, the norm for eta -> infinity.

    n_i = DX_i/|DX_i|.
    """
    change = drive(model, weights, tokens, inputs)
    blocks = normalisation_jacobian(change, model.width, parameters["gamma"])
    return spectral_norm(after_blocks(blocks, _of_attention(model, weights, tokens)))


def attention_bound(
    tokens: Tensor, weights: Weights, heads: int, beta: float, *, printed: bool
) -> Bounded:
    """|J_MSA|_2 <= sum_h sqrt3 |W^O_h| |W^V_h| sqrt(q_h r^4 (S+1) + S), if |x_i| <= r for all i.

    As printed (Eq. 15 of the first version, after Castin et al.) q_h = |beta W^Q_h W^K_h^T|_2,
    which is false (erratum E2); with its square it is true: the parts of the Jacobian through the
    value, the query and the key are at most sqrt S, q r^2 and q r^2 sqrt S with the unsquared norm
    q, and (u + v + w)^2 <= 3 (u^2 + v^2 + w^2).

    Args:
        tokens: [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.
        printed: whether as printed.
    """
    radius = torch.linalg.vector_norm(tokens, dim=-1).amax(dim=-1).unsqueeze(-1)
    coupled = beta * spectral_norm(coupling(weights, heads))
    count = tokens.shape[-2]
    inner = (coupled if printed else coupled**2) * radius**4 * (count + 1) + count
    outer = spectral_norm(rows(weights.output, heads)) * spectral_norm(
        columns(weights.value, heads)
    )
    bound = (3**0.5 * outer * inner.sqrt()).sum(dim=-1)
    return Bounded(spectral_norm(attention_jacobian(tokens, weights, heads, beta)), bound)


def _of_attention(model: Model, weights: Weights, tokens: Tensor) -> Tensor:
    """J_MSA [..., S D, S D]."""
    return attention_jacobian(tokens, weights, model.heads, inverse_temperature(model))
