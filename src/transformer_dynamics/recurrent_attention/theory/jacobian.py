"""Jacobians of attention, of the normalisation and of one step, in closed form.

Tokens X are [..., S, D], and vec X is row-major: coordinate d of token s is s D + d. A Jacobian is
[..., S D, S D], the output's coordinate first. Leading axes of tokens, weights and parameters
broadcast against each other.
"""

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.attention import Weights, probabilities
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.models import (
    Parameters,
    advance,
    drive,
    frequencies,
    in_blocks,
    rotated,
    scalar,
    unit_blocks,
)


class Step(NamedTuple):
    """One step of a model, and how it maps what is near its start."""

    tokens: Tensor
    """[..., S, D] X', where it leads."""
    jacobian: Tensor
    """[..., S D, S D] dX'/dX."""
    normals: Tensor
    """[..., S D, B] orthonormal basis of what no X' is in reach of to first order: one direction
    per normalised block, none without normalisation."""

    @property
    def is_finite(self) -> bool:
        """Whether all tokens and all entries of the Jacobian are numbers."""
        return bool(torch.isfinite(self.tokens).all() and torch.isfinite(self.jacobian).all())


def inverse_temperature(model: Model) -> float:
    """The beta of a model, 1/sqrt(D/H), as `models.drive` has it."""
    return 1 / sqrt(model.width / model.heads)


def columns(weight: Tensor, heads: int) -> Tensor:
    """[..., H, D, d] the blocks of columns of a weight [..., D, H d]."""
    return torch.unflatten(weight, -1, (heads, -1)).movedim(-2, -3)


def rows(weight: Tensor, heads: int) -> Tensor:
    """[..., H, d, D] the blocks of rows of a weight [..., H d, D]."""
    return torch.unflatten(weight, -2, (heads, -1))


def coupling(weights: Weights, heads: int) -> Tensor:
    """A_h = W^Q_h W^K_h^T of every head [..., H, D, D]."""
    return columns(weights.query, heads) @ columns(weights.key, heads).mT


def mixing(weights: Weights, heads: int) -> Tensor:
    """W^V_h W^O_h of every head [..., H, D, D]."""
    return columns(weights.value, heads) @ rows(weights.output, heads)


def attention_jacobian(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """Jacobian d MSA/dX, [..., S D, S D].

    With u_j = x_j W^V_h W^O_h and ubar_i = sum_j P_ij u_j, block (i, k) is the sum over heads of

        P_ik (W^V_h W^O_h)^T + beta P_ik (u_k - ubar_i)^T (x_i A_h)
                             + delta_ik beta sum_j P_ij (u_j - ubar_i)^T (x_j A_h^T),

    A_h = W^Q_h W^K_h^T: through the value, the key and the query.

    Args:
        tokens: X [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.
    """
    shares = probabilities(tokens, weights, heads, beta)
    x, mixed, coupled = tokens.unsqueeze(-3), mixing(weights, heads), coupling(weights, heads)
    values = x @ mixed
    deviation = values.mT.unsqueeze(-3) - (shares @ values).unsqueeze(-1)
    spread = beta * shares.unsqueeze(-2) * deviation  # of u_k: [..., H, i, d, k]
    jacobian = torch.einsum("...hidk,...hie->...idke", spread, x @ coupled)
    jacobian += torch.einsum("...hik,...hed->...idke", shares, mixed)
    of_query = spread @ (x @ coupled.mT).unsqueeze(-3)
    return _add_blocks(jacobian.flatten(-2).flatten(-3, -2), of_query.sum(dim=-4))


def normalisation_jacobian(tokens: Tensor, block: int, gamma: Tensor | None = None) -> Tensor:
    """diag(gamma) (Id - y y^T/|y|^2)/|y| of every block y (Lemma A.3).

    Args:
        tokens: Y [..., S, D].
        block: N.
        gamma: [..., D]; by default ones.

    Returns:
        [..., S D/N, N, N] the diagonal blocks; all others are zero.
    """
    blocks = in_blocks(tokens, block)
    length: Tensor = torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    unit = blocks / length
    projection = _identity(unit) - unit.unsqueeze(-1) * unit.unsqueeze(-2)
    scaled = projection / length.unsqueeze(-1)
    if gamma is not None:
        scaled = in_blocks(gamma.unsqueeze(-2), block).unsqueeze(-1) * scaled
    return scaled.flatten(-4, -3)


def after_blocks(blocks: Tensor, matrix: Tensor) -> Tensor:
    """[..., B N, M] the product of diagonal blocks [..., B, N, N] and a matrix [..., B N, M]."""
    parts = torch.unflatten(matrix, -2, (blocks.shape[-3], -1))
    return (blocks @ parts).flatten(-3, -2)


def step(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Step:
    """One step, `models.advance`, together with its Jacobian.

    Args:
        model: which model.
        parameters: `eta` [...], and `gamma` [..., D], `omega` [...] or `omegas` [..., D/2].
        weights: the matrices of attention.
        tokens: X [..., S, D].
        inputs: C, of the same shape.
    """
    change = attention_jacobian(tokens, weights, model.heads, inverse_temperature(model))
    if model.kind != "itrsa":
        driven = drive(model, weights, tokens, inputs)
        change = _projected(change, tokens, driven, model.block)
    if model.kind == "akorn":
        turn = frequencies(parameters, tokens).mT * rotated(_identity(tokens)).mT
        change = _add_blocks(change, turn.unsqueeze(-3))
    linear = scalar(parameters["eta"], tokens) * change
    linear.diagonal(dim1=-2, dim2=-1).add_(1)
    free = model.model_copy(update={"normalised": False})
    ahead = advance(free, parameters, weights, tokens, inputs)
    if not model.normalised:
        return Step(ahead, linear, linear[..., :0])
    gamma = parameters["gamma"] if model.kind == "itrsa" else None
    return after_normalisation(ahead, linear, model.block, gamma)


def after_normalisation(
    ahead: Tensor, jacobian: Tensor, block: int, gamma: Tensor | None = None
) -> Step:
    """diag(gamma) Pi(Y) (5)-(6), whose image is normal to y/gamma in every block y.

    Args:
        ahead: Y [..., S, D].
        jacobian: dY/dX [..., S D, S D].
        block: N.
        gamma: [..., D]; by default ones.
    """
    scale = torch.ones_like(ahead[..., :1, :]) if gamma is None else gamma.unsqueeze(-2)
    # A division by gamma: a channel whose gamma is 0 would be null, too, and is not counted.
    normals = in_blocks(unit_blocks(ahead / scale, block), block).flatten(-3, -2)
    spread = torch.einsum("...bd,bc->...bdc", normals, _identity(normals.mT)).flatten(-3, -2)
    projected = after_blocks(normalisation_jacobian(ahead, block, gamma), jacobian)
    return Step(scale * unit_blocks(ahead, block), projected, spread)


def _projected(change: Tensor, tokens: Tensor, driven: Tensor, block: int) -> Tensor:
    """The Jacobian of Proj_X(Y)_i = (Id - x_i x_i^T) y_i from that of Y, for every block.

    d Proj = (Id - x x^T) dy - ((x.y) Id + x y^T) dx.
    """
    x, y = (in_blocks(each, block).flatten(-3, -2) for each in (tokens, driven))
    along = (x * y).sum(dim=-1, keepdim=True).unsqueeze(-1)
    projection = _identity(x) - x.unsqueeze(-1) * x.unsqueeze(-2)
    turning = along * _identity(x) + x.unsqueeze(-1) * y.unsqueeze(-2)
    return _add_blocks(after_blocks(projection, change), -turning)


def _identity(like: Tensor) -> Tensor:
    """[n, n] for the last axis of a tensor."""
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)


def _add_blocks(matrix: Tensor, blocks: Tensor) -> Tensor:
    """A matrix [..., B N, B N] of its caller's own with blocks [..., B, N, N] added in place."""
    width = blocks.shape[-1]
    parts = torch.unflatten(torch.unflatten(matrix, -1, (-1, width)), -3, (-1, width))
    parts.diagonal(dim1=-4, dim2=-2).add_(blocks.movedim(-3, -1))
    return matrix
