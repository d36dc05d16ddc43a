"""Jacobians of attention, of the normalisation and of one step, in closed form.

Tokens X are [..., S, D], and vec X is row-major: coordinate d of token s is s D + d. A Jacobian is
[..., S D, S D], the output's coordinate first. Leading axes of tokens, weights and parameters
broadcast against each other. Arguments of attention are those of `attention.py`.
"""

from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import (
    Weights,
    attention_probabilities,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    broadcast_scalar,
    drive,
    inverse_temperature,
    next_tokens,
    rotate_pairs,
    rotation_frequencies,
    split_blocks,
    unit_blocks,
)

Matrix = TypeVar("Matrix")


class Step(NamedTuple, Generic[Matrix]):
    """One step of a model, and its Jacobian."""

    tokens: Tensor
    """Tokens X' after the step [..., S, D]."""
    jacobian: Matrix
    """Jacobian dX'/dX [..., S D, S D]: a tensor, or `products.Products`."""
    normals: Tensor
    """Orthonormal basis of the directions that no X' reaches to first order [..., S D, B]: one
    per normalised block, none without normalisation."""

    @property
    def is_finite(self) -> bool:
        """True if all tokens and all entries of the Jacobian are numbers."""
        jacobian: Any = self.jacobian
        return bool(self.tokens.isfinite().all() and jacobian.isfinite().all())


def head_columns(weight: Tensor, heads: int) -> Tensor:
    """Return the blocks of columns [..., H, D, d] of a weight [..., D, H d]."""
    return torch.unflatten(weight, -1, (heads, -1)).movedim(-2, -3)


def head_rows(weight: Tensor, heads: int) -> Tensor:
    """Return the blocks of rows [..., H, d, D] of a weight [..., H d, D]."""
    return torch.unflatten(weight, -2, (heads, -1))


def score_matrices(weights: Weights, heads: int) -> Tensor:
    """Return A_h = W^Q_h W^K_h^T of every head [..., H, D, D]."""
    return head_columns(weights.query, heads) @ head_columns(weights.key, heads).mT


def value_output_matrices(weights: Weights, heads: int) -> Tensor:
    """Return W^V_h W^O_h of every head [..., H, D, D]."""
    return head_columns(weights.value, heads) @ head_rows(weights.output, heads)


def attention_jacobian(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """Return the Jacobian d MSA/dX [..., S D, S D].

    With u_j = x_j W^V_h W^O_h and ubar_i = sum_j P_ij u_j, block (i, k) is the sum over heads of

        P_ik (W^V_h W^O_h)^T + beta P_ik (u_k - ubar_i)^T (x_i A_h)
                             + delta_ik beta sum_j P_ij (u_j - ubar_i)^T (x_j A_h^T),

    A_h = W^Q_h W^K_h^T: through the value, the key and the query.
    """
    shares = attention_probabilities(tokens, weights, heads, beta)
    x, mixed, coupled = (
        tokens.unsqueeze(-3),
        value_output_matrices(weights, heads),
        score_matrices(weights, heads),
    )
    values = x @ mixed
    deviation = values.mT.unsqueeze(-3) - (shares @ values).unsqueeze(-1)
    spread = beta * shares.unsqueeze(-2) * deviation  # of u_k: [..., H, i, d, k]
    jacobian = torch.einsum("...hidk,...hie->...idke", spread, x @ coupled)
    jacobian += torch.einsum("...hik,...hed->...idke", shares, mixed)
    of_query = spread @ (x @ coupled.mT).unsqueeze(-3)
    return _add_blocks(jacobian.flatten(-2).flatten(-3, -2), of_query.sum(dim=-4))


def normalisation_jacobian(tokens: Tensor, block: int, gamma: Tensor | None = None) -> Tensor:
    """Return diag(gamma) (Id - y y^T/|y|^2)/|y| of every block y of Y [..., S, D] (Lemma A.3).

    These are the diagonal blocks [..., S D/N, N, N]; all others are zero. gamma [..., D] is ones by
    default.
    """
    blocks = split_blocks(tokens, block)
    length: Tensor = torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    unit = blocks / length
    projection = _identity_like(unit) - unit.unsqueeze(-1) * unit.unsqueeze(-2)
    scaled = projection / length.unsqueeze(-1)
    if gamma is not None:
        scaled = split_blocks(gamma.unsqueeze(-2), block).unsqueeze(-1) * scaled
    return scaled.flatten(-4, -3)


def multiply_blocks(blocks: Tensor, matrix: Tensor) -> Tensor:
    """Return diagonal blocks [..., B, N, N] times a matrix [..., B N, M], [..., B N, M]."""
    parts = torch.unflatten(matrix, -2, (blocks.shape[-3], -1))
    return (blocks @ parts).flatten(-3, -2)


def step_with_jacobian(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Step[Tensor]:
    """Return one step, that of `recurrence.next_tokens`, with its Jacobian.

    Tokens X and inputs C are [..., S, D]; parameters are `eta` [...], and `gamma` [..., D], `omega`
    [...] or `omegas` [..., D/2].
    """
    change = attention_jacobian(tokens, weights, model.heads, inverse_temperature(model))
    if model.kind != "itrsa":
        driven = drive(model, weights, tokens, inputs)
        change = _tangent_jacobian(change, tokens, driven, model.block)
    if model.kind == "akorn":
        turn = rotation_frequencies(parameters, tokens).mT * rotate_pairs(_identity_like(tokens)).mT
        change = _add_blocks(change, turn.unsqueeze(-3))
    linear = broadcast_scalar(parameters["eta"], tokens) * change
    linear.diagonal(dim1=-2, dim2=-1).add_(1)
    free = model.model_copy(update={"normalised": False})
    ahead = next_tokens(free, parameters, weights, tokens, inputs)
    if not model.normalised:
        return Step(ahead, linear, linear[..., :0])
    gamma = parameters["gamma"] if model.kind == "itrsa" else None
    return normalised_step(ahead, linear, model.block, gamma)


def normalised_step(
    ahead: Tensor, jacobian: Tensor, block: int, gamma: Tensor | None = None
) -> Step[Tensor]:
    """Return diag(gamma) Pi(Y) (5)-(6) with its Jacobian.

    The image of the Jacobian is normal to y/gamma in every block y of Y [..., S, D]. The Jacobian
    dY/dX is [..., S D, S D]; gamma [..., D] is ones by default.
    """
    scale = torch.ones_like(ahead[..., :1, :]) if gamma is None else gamma.unsqueeze(-2)
    # A division by gamma: a channel whose gamma is 0 would be null, too, and is not counted.
    normals = split_blocks(unit_blocks(ahead / scale, block), block).flatten(-3, -2)
    spread = torch.einsum("...bd,bc->...bdc", normals, _identity_like(normals.mT)).flatten(-3, -2)
    projected = multiply_blocks(normalisation_jacobian(ahead, block, gamma), jacobian)
    return Step(scale * unit_blocks(ahead, block), projected, spread)


def _tangent_jacobian(change: Tensor, tokens: Tensor, driven: Tensor, block: int) -> Tensor:
    """Return the Jacobian of Proj_X(Y)_i = (Id - x_i x_i^T) y_i from that of Y, for every block.

    d Proj = (Id - x x^T) dy - ((x.y) Id + x y^T) dx.
    """
    x, y = (split_blocks(each, block).flatten(-3, -2) for each in (tokens, driven))
    along = (x * y).sum(dim=-1, keepdim=True).unsqueeze(-1)
    projection = _identity_like(x) - x.unsqueeze(-1) * x.unsqueeze(-2)
    turning = along * _identity_like(x) + x.unsqueeze(-1) * y.unsqueeze(-2)
    return _add_blocks(multiply_blocks(projection, change), -turning)


def _identity_like(like: Tensor) -> Tensor:
    """Return the identity [n, n] for the last axis of a tensor."""
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)


def _add_blocks(matrix: Tensor, blocks: Tensor) -> Tensor:
    """Add diagonal blocks [..., B, N, N] to a matrix [..., B N, B N], in place."""
    width = blocks.shape[-1]
    parts = torch.unflatten(torch.unflatten(matrix, -1, (-1, width)), -3, (-1, width))
    parts.diagonal(dim1=-4, dim2=-2).add_(blocks.movedim(-3, -1))
    return matrix
