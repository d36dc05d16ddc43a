"""Bounds of spectral norms: Proposition 5.1, its limit eta -> infinity, and that of attention.

Steps are those of ItrSA, with the arguments of `step_with_jacobian`; DX_i of a token is a row of
Y = C + MSA(X).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    head_columns,
    head_rows,
    multiply_blocks,
    normalisation_jacobian,
    score_matrices,
    step_with_jacobian,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    broadcast_scalar,
    drive,
    inverse_temperature,
)


class NormAndBound(NamedTuple):
    """Spectral norm |J|_2 [...] and its bound [...]."""

    norm: Tensor
    bound: Tensor


def spectral_norm(matrix: Tensor) -> Tensor:
    """Return the largest singular value [...] of matrices [..., n, n]."""
    norm: Tensor = torch.linalg.matrix_norm(matrix, ord=2)
    return norm


def shortest_length(tokens: Tensor) -> Tensor:
    """Return min |x_i| [...] of tokens [..., S, D]."""
    lengths: Tensor = torch.linalg.vector_norm(tokens, dim=-1)
    return lengths.amin(dim=-1)


def proposition_5_1(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> NormAndBound:
    """Return |J|_2 <= (max|gamma|/R)(1 + |eta| |J_MSA|_2) for |x_i + eta DX_i| >= R."""
    eta, largest = parameters["eta"], parameters["gamma"].abs().amax(dim=-1)
    change = drive(model, weights, tokens, inputs)
    radius = shortest_length(tokens + broadcast_scalar(eta, tokens) * change)
    inner = spectral_norm(_attention_jacobian(model, weights, tokens))
    norm = spectral_norm(step_with_jacobian(model, parameters, weights, tokens, inputs).jacobian)
    return NormAndBound(norm, largest / radius * (1 + eta.abs() * inner))


def large_step_bound(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> NormAndBound:
    """Return |J|_2 <= max|gamma| (1 + eta |J_MSA|_2)/(eta e - max|gamma|), if |DX_i| >= e.

    The bound tends to max|gamma| |J_MSA|_2/e for eta -> infinity. R of Proposition 5.1 is at least
    its denominator as X is an output of RMSNorm, so that no token is longer than max|gamma|. Raise
    InputError if eta is not above max|gamma|/e, where the bound says nothing.
    """
    eta, largest = parameters["eta"], parameters["gamma"].abs().amax(dim=-1)
    least = shortest_length(drive(model, weights, tokens, inputs))
    if not bool((eta * least > largest).all()):
        raise InputError("the bound for large steps needs eta > max|gamma|/e")
    inner = spectral_norm(_attention_jacobian(model, weights, tokens))
    norm = spectral_norm(step_with_jacobian(model, parameters, weights, tokens, inputs).jacobian)
    return NormAndBound(norm, largest * (1 + eta * inner) / (eta * least - largest))


def large_step_limit(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Tensor:
    """Return the norm |J|_2 for eta -> infinity.

    |blockdiag_i(diag(gamma) (Id - n_i n_i^T)/|DX_i|) J_MSA|_2 with n_i = DX_i/|DX_i|.
    """
    change = drive(model, weights, tokens, inputs)
    blocks = normalisation_jacobian(change, model.width, parameters["gamma"])
    return spectral_norm(multiply_blocks(blocks, _attention_jacobian(model, weights, tokens)))


def attention_bound(
    tokens: Tensor, weights: Weights, heads: int, beta: float, *, printed: bool
) -> NormAndBound:
    """Return |J_MSA|_2 <= sum_h sqrt3 |W^O_h| |W^V_h| sqrt(q_h r^4 (S+1) + S), if |x_i| <= r.

    If `printed` (Eq. 15 of the first version, after Castin et al.) q_h = |beta W^Q_h W^K_h^T|_2,
    which is false (erratum E2); with its square it is true: the parts of the Jacobian through the
    value, the query and the key are at most sqrt S, q r^2 and q r^2 sqrt S with the unsquared norm
    q, and (u + v + w)^2 <= 3 (u^2 + v^2 + w^2).
    """
    radius = torch.linalg.vector_norm(tokens, dim=-1).amax(dim=-1).unsqueeze(-1)
    coupled = beta * spectral_norm(score_matrices(weights, heads))
    count = tokens.shape[-2]
    inner = (coupled if printed else coupled**2) * radius**4 * (count + 1) + count
    outer = spectral_norm(head_rows(weights.output, heads)) * spectral_norm(
        head_columns(weights.value, heads)
    )
    bound = (3**0.5 * outer * inner.sqrt()).sum(dim=-1)
    return NormAndBound(spectral_norm(attention_jacobian(tokens, weights, heads, beta)), bound)


def _attention_jacobian(model: Model, weights: Weights, tokens: Tensor) -> Tensor:
    """Return J_MSA [..., S D, S D]."""
    return attention_jacobian(tokens, weights, model.heads, inverse_temperature(model))
