"""Jacobians of attention, of the normalisation and of one step, in closed form.

Tokens X are [..., S, D], and vec X is row-major: coordinate d of token s is s D + d. A Jacobian is
[..., S D, S D], the output's coordinate first. Weights are a mapping of

    query, key, value [..., D, D]    H blocks of D_H = D/H columns, W^Q_h, W^K_h, W^V_h
    output [..., D, D]               H blocks of D_H rows, W^O_h
    inputs [..., S, D]               C, what is added at every step
    eta [...], gamma [..., D], omega [...]

of which each function takes what its formula has. Leading axes broadcast against each other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from replication.errors import InputError

Weights = Mapping[str, Tensor]


class Step(NamedTuple):
    """One step of a model, and how it maps what is near its start."""

    tokens: Tensor
    """[..., S, D] X', where it leads."""
    jacobian: Tensor
    """[..., S D, S D] dX'/dX."""
    normals: Tensor
    """[..., S D, B] orthonormal basis of what no X' is in reach of to first order: one direction
    per normalised block, none without normalisation."""


class _Heads(NamedTuple):
    """What all heads compute of the tokens."""

    queries: Tensor
    """[..., H, S, D_H] X W^Q_h."""
    keys: Tensor
    """[..., H, S, D_H] X W^K_h."""
    values: Tensor
    """[..., H, S, D] X W^V_h W^O_h."""
    attention: Tensor
    """[..., H, S, S] P_h = softmax(beta X W^Q_h W^K_h^T X^T)."""


def columns(weight: Tensor, heads: int) -> Tensor:
    """[..., H, D, D_H] the blocks of columns of a weight [..., D, D].

    Raises:
        InputError: if D is no multiple of H.
    """
    _require_divisor(weight.shape[-1], heads, "heads")
    return torch.unflatten(weight, -1, (heads, -1)).movedim(-2, -3)


def rows(weight: Tensor, heads: int) -> Tensor:
    """[..., H, D_H, D] the blocks of rows of a weight [..., D, D].

    Raises:
        InputError: if D is no multiple of H.
    """
    _require_divisor(weight.shape[-2], heads, "heads")
    return torch.unflatten(weight, -2, (heads, -1))


def attention(tokens: Tensor, weights: Weights, heads: int) -> Tensor:
    """MSA(X) = sum_h P_h X W^V_h W^O_h with beta = 1/sqrt(D_H) (1)-(2), [..., S, D].

    Raises:
        InputError: if D is no multiple of H.
    """
    found = _heads(tokens, weights, heads)
    return (found.attention @ found.values).sum(dim=-3)


def attention_jacobian(tokens: Tensor, weights: Weights, heads: int) -> Tensor:
    """Jacobian d MSA/dX, [..., S D, S D].

    With u_j = x_j W^V_h W^O_h and ubar_i = sum_j P_ij u_j, block (i, k) is the sum over heads of

        P_ik (W^V_h W^O_h)^T + beta P_ik (u_k - ubar_i)^T (x_i A_h)
                             + delta_ik beta sum_j P_ij (u_j - ubar_i)^T (x_j A_h^T),

    A_h = W^Q_h W^K_h^T: through the value, the key and the query.

    Args:
        tokens: [..., S, D].
        weights: `query`, `key`, `value`, `output`.
        heads: H.

    Raises:
        InputError: if D is no multiple of H.
    """
    beta = (tokens.shape[-1] / heads) ** -0.5
    found = _heads(tokens, weights, heads)
    mixing = columns(weights["value"], heads) @ rows(weights["output"], heads)
    at_query = found.queries @ columns(weights["key"], heads).mT
    at_key = found.keys @ columns(weights["query"], heads).mT
    mean = (found.attention @ found.values).unsqueeze(-1)
    deviation = found.values.mT.unsqueeze(-3) - mean
    spread = beta * found.attention.unsqueeze(-2) * deviation  # of u_k: [..., H, i, d, k]
    jacobian = torch.einsum("...hidk,...hie->...idke", spread, at_query)
    jacobian += torch.einsum("...hik,...hed->...idke", found.attention, mixing)
    of_query = spread @ at_key.unsqueeze(-3)
    return _add_blocks(jacobian.flatten(-2).flatten(-3, -2), of_query.sum(dim=-4))


def normalise(tokens: Tensor, dimension: int | None = None, gamma: Tensor | None = None) -> Tensor:
    """diag(gamma) Pi(Y) (5)-(6): every block of a token is divided by its length.

    Args:
        tokens: [..., S, D] Y.
        dimension: N, how long a block is; by default D, one block per token.
        gamma: [..., D]; by default ones.

    Raises:
        InputError: if D is no multiple of N.
    """
    blocks = _blocks(tokens, dimension)
    length: Tensor = torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    unit = (blocks / length).flatten(-2)
    return unit if gamma is None else gamma.unsqueeze(-2) * unit


def normalisation_jacobian(
    tokens: Tensor, dimension: int | None = None, gamma: Tensor | None = None
) -> Tensor:
    """diag(gamma) (Id - y y^T/|y|^2)/|y| of every block y (Lemma A.3).

    Args:
        tokens: [..., S, D] Y.
        dimension: N, by default D.
        gamma: [..., D]; by default ones.

    Returns:
        [..., S D/N, N, N] the diagonal blocks; all others are zero.

    Raises:
        InputError: if D is no multiple of N.
    """
    blocks = _blocks(tokens, dimension)
    length: Tensor = torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    unit = blocks / length
    identity = torch.eye(blocks.shape[-1], dtype=tokens.dtype, device=tokens.device)
    projection = identity - unit.unsqueeze(-1) * unit.unsqueeze(-2)
    scaled = projection / length.unsqueeze(-1)
    if gamma is not None:
        scaled = _blocks(gamma.unsqueeze(-2), dimension).unsqueeze(-1) * scaled
    return scaled.flatten(-4, -3)


def block_diagonal(blocks: Tensor) -> Tensor:
    """[..., B N, B N] the matrix with diagonal blocks [..., B, N, N]."""
    identity = torch.eye(blocks.shape[-3], dtype=blocks.dtype, device=blocks.device)
    spread = torch.einsum("...bde,bc->...bdce", blocks, identity)
    return spread.flatten(-2, -1).flatten(-3, -2)


def after_blocks(blocks: Tensor, matrix: Tensor) -> Tensor:
    """[..., B N, M] the product of `block_diagonal(blocks)` and a matrix [..., B N, M]."""
    parts = torch.unflatten(matrix, -2, (blocks.shape[-3], -1))
    return (blocks @ parts).flatten(-3, -2)


def rotation(frequencies: Tensor) -> Tensor:
    """Omega [..., 2K, 2K] of pairs of channels (x1, x2) -> omega (x2, -x1), omega [..., K]."""
    zero = torch.zeros_like(frequencies)
    planes = torch.stack([zero, frequencies, -frequencies, zero], dim=-1)
    return block_diagonal(torch.unflatten(planes, -1, (2, 2)))


def itrsa_step(
    tokens: Tensor,
    weights: Weights,
    heads: int,
    dimension: int | None = None,
    *,
    normalised: bool = True,
) -> Step:
    """ItrSA (9): X' = RMSNorm(X + eta (C + MSA(X))).

    Args:
        tokens: [..., S, D].
        weights: those of `attention`, `inputs`, `eta`, and `gamma` if it is not 1.
        heads: H.
        dimension: N of the normalised blocks, by default D, which is (9).
        normalised: whether there is an RMSNorm; without it X' = X + eta (C + MSA(X)).

    Raises:
        InputError: if D is no multiple of H or N.
    """
    update = weights["inputs"] + attention(tokens, weights, heads)
    ahead, change = _ahead(tokens, weights, update, attention_jacobian(tokens, weights, heads))
    if normalised:
        return _normalised(ahead, change, dimension, weights.get("gamma"))
    return Step(ahead, change, change[..., :0])


def akorn_step(tokens: Tensor, weights: Weights, heads: int, dimension: int) -> Step:
    """AKOrN (7)-(8): X' = Pi(X + eta (Omg(X) + Proj_X(C + MSA(X)))), all by oscillators.

    Args:
        tokens: [..., S, D].
        weights: those of `attention`, `inputs`, `eta`, `omega`.
        heads: H.
        dimension: N of an oscillator.

    Raises:
        InputError: if D is no multiple of H or N, or N is odd.
    """
    _require_divisor(dimension, 2, "channels of an oscillator's plane")
    update, change = _projected(tokens, weights, heads, dimension)
    omega = weights["omega"].unsqueeze(-1)
    turn = rotation(omega.expand(*omega.shape[:-1], tokens.shape[-1] // 2))
    change = _add_blocks(change, turn.unsqueeze(-3))
    ahead, change = _ahead(tokens, weights, update + tokens @ turn.mT, change)
    return _normalised(ahead, change, dimension, None)


def symmetric_step(tokens: Tensor, weights: Weights, heads: int = 1) -> Step:
    """Symmetric attention: X' = Pi(X + eta Proj_X(C + SA(X))), token by token.

    The weights alone make it symmetric, W^Q = W^V = (W^Q)^T with W^K = W^O = Id.

    Args:
        tokens: [..., S, D].
        weights: those of `attention`, `inputs`, `eta`.
        heads: H.

    Raises:
        InputError: if D is no multiple of H.
    """
    width = tokens.shape[-1]
    ahead, change = _ahead(tokens, weights, *_projected(tokens, weights, heads, width))
    return _normalised(ahead, change, width, None)


def _heads(tokens: Tensor, weights: Weights, heads: int) -> _Heads:
    queries, keys, values = (
        tokens.unsqueeze(-3) @ columns(weights[name], heads) for name in ("query", "key", "value")
    )
    beta = queries.shape[-1] ** -0.5
    scores = beta * queries @ keys.mT
    return _Heads(queries, keys, values @ rows(weights["output"], heads), scores.softmax(dim=-1))


def _projected(
    tokens: Tensor, weights: Weights, heads: int, dimension: int
) -> tuple[Tensor, Tensor]:
    """Proj_X(Y)_i = (Id - x_i x_i^T) y_i of Y = C + MSA(X) for every block, and its Jacobian.

    d Proj = (Id - x x^T) dy - ((x.y) Id + x y^T) dx.
    """
    drive = weights["inputs"] + attention(tokens, weights, heads)
    x, y = (_blocks(each, dimension).flatten(-3, -2) for each in (tokens, drive))
    identity = torch.eye(dimension, dtype=tokens.dtype, device=tokens.device)
    along = (x * y).sum(dim=-1, keepdim=True)
    update = torch.unflatten((y - along * x).flatten(-2), -1, tokens.shape[-2:])
    projection = identity - x.unsqueeze(-1) * x.unsqueeze(-2)
    turning = along.unsqueeze(-1) * identity + x.unsqueeze(-1) * y.unsqueeze(-2)
    change = after_blocks(projection, attention_jacobian(tokens, weights, heads))
    return update, _add_blocks(change, -turning)


def _ahead(
    tokens: Tensor, weights: Weights, update: Tensor, change: Tensor
) -> tuple[Tensor, Tensor]:
    """X + eta DX, and Id + eta d DX/dX."""
    eta = weights["eta"][..., None, None]
    linear = eta * change
    linear.diagonal(dim1=-2, dim2=-1).add_(1)
    return tokens + eta * update, linear


def _normalised(ahead: Tensor, change: Tensor, dimension: int | None, gamma: Tensor | None) -> Step:
    """diag(gamma) Pi of what lies ahead: its image is normal to y/gamma in every block."""
    jacobian = after_blocks(normalisation_jacobian(ahead, dimension, gamma), change)
    # A division by gamma: a channel whose gamma is 0 would be null, too, and is not counted.
    normals = ahead if gamma is None else ahead / gamma.unsqueeze(-2)
    blocks = _blocks(normalise(normals, dimension), dimension).flatten(-3, -2)
    identity = torch.eye(blocks.shape[-2], dtype=blocks.dtype, device=blocks.device)
    spread = torch.einsum("...bd,bc->...bdc", blocks, identity).flatten(-3, -2)
    return Step(normalise(ahead, dimension, gamma), jacobian, spread)


def _add_blocks(matrix: Tensor, blocks: Tensor) -> Tensor:
    """A matrix [..., B N, B N] of its caller's own with blocks [..., B, N, N] added in place."""
    width = blocks.shape[-1]
    parts = torch.unflatten(torch.unflatten(matrix, -1, (-1, width)), -3, (-1, width))
    parts.diagonal(dim1=-4, dim2=-2).add_(blocks.movedim(-3, -1))
    return matrix


def _blocks(tokens: Tensor, dimension: int | None) -> Tensor:
    """[..., S, D/N, N] the blocks of tokens [..., S, D]."""
    width = tokens.shape[-1] if dimension is None else dimension
    _require_divisor(tokens.shape[-1], width, "channels of a block")
    return torch.unflatten(tokens, -1, (-1, width))


def _require_divisor(width: int, part: int, what: str) -> None:
    if part < 1 or width % part:
        raise InputError(f"{width} channels cannot be cut evenly by {part} {what}")
