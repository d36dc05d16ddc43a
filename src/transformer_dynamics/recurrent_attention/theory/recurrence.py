"""One step of the recurrent models: ItrSA (9), AKOrN (7)-(8) and symmetric SA.

Parameters are tensors by name, with the axis of seeds first where several are trained at once.
Tokens have the same leading axes: X [..., board, S, D].
"""

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import Weights, attention

Parameters = Mapping[str, Tensor]


def effective_weights(model: Model, parameters: Parameters) -> Weights:
    """Return the matrices of attention that stand for the trained parameters.

    * free: the parameters themselves;
    * symmetric SA: W^Q = W^V = M = M^T and W^K = W^O = Id;
    * orthogonal: W^V and W^O are orthogonal;
    * hard, Proposition 4.2: one orthogonal [U_11 U_21 U_12 U_22 ...] gives W^Q_h = U_1h,
      W^K_h = U_2h and W^V_h W^O_h = (U_1h U_2h^T + U_2h U_1h^T)/2.
    """
    if model.kind == "symmetric":
        raw = parameters["symmetric"]
        matrix = (raw + raw.mT) / 2
        identity = torch.eye(model.width).to(raw).expand_as(raw)
        return Weights(matrix, identity, matrix, identity)
    if model.projections == "hard":
        basis = _orthogonal_matrix(parameters, "basis")
        pairs = basis.reshape(*basis.shape[:-1], model.heads, 2, -1)
        first, second = (part.flatten(-2) for part in pairs.unbind(-2))
        swapped = pairs.flip(-2).flatten(-3)
        return Weights(first, second, basis, swapped.mT / 2)
    if model.projections == "orthogonal":
        value, output = (_orthogonal_matrix(parameters, name) for name in ("value", "output"))
        return Weights(parameters["query"], parameters["key"], value, output)
    return Weights(*(parameters[name] for name in Weights._fields))


def _orthogonal_matrix(parameters: Parameters, name: str) -> Tensor:
    """Return Q_0 (Id + S)^-1 (Id - S) with S anti-symmetric, 0 at first (Cayley)."""
    raw = parameters[f"{name}_angles"]
    skew = (raw - raw.mT) / 2
    identity = torch.eye(raw.shape[-1]).to(raw)
    turn: Tensor = torch.linalg.solve(identity + skew, identity - skew)
    return parameters[f"{name}_start"] @ turn


def next_tokens(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Tensor:
    """Return X' of one iteration, from X and C [..., board, S, D].

    * ItrSA (9): RMSNorm(X + eta (C + MSA(X))), without normalisation just the argument;
    * AKOrN (7)-(8): Pi(X + eta (Omg(X) + Proj_X(C + MSA(X))));
    * symmetric SA: Pi(X + eta Proj_X(C + SA(X))).

    Parameters have the leading axes of the tokens; weights are `effective_weights` of these.
    """
    change = drive(model, weights, tokens, inputs)
    if model.kind != "itrsa":
        change = project_to_tangent(change, tokens, model.block)
    if model.kind == "akorn":
        change = change + rotation_frequencies(parameters, tokens) * rotate_pairs(tokens)
    moved = tokens + broadcast_scalar(parameters["eta"], tokens) * change
    return normalise_tokens(model, parameters, moved)


def drive(model: Model, weights: Weights, tokens: Tensor, inputs: Tensor) -> Tensor:
    """Return Y = C + MSA(X)."""
    return inputs + attention(tokens, weights, model.heads, inverse_temperature(model))


def inverse_temperature(model: Model) -> float:
    """Return beta = 1/sqrt(D/H)."""
    return 1 / sqrt(model.width / model.heads)


def normalise_tokens(model: Model, parameters: Parameters, tokens: Tensor) -> Tensor:
    """Apply Pi to every block of N channels (5); multiply by gamma where the model is ItrSA (6).

    2-norms, with neither the factor sqrt(N) nor a small constant.
    """
    if not model.normalised:
        return tokens
    unit = unit_blocks(tokens, model.block)
    if model.kind != "itrsa":
        return unit
    return unit * broadcast_row(parameters["gamma"], tokens)


def split_blocks(tokens: Tensor, block: int) -> Tensor:
    """Return channels [..., D] as blocks [..., D/N, N]."""
    return tokens.reshape(*tokens.shape[:-1], -1, block)


def unit_blocks(tokens: Tensor, block: int) -> Tensor:
    """Divide every block of N successive channels by its 2-norm."""
    blocks = split_blocks(tokens, block)
    unit: Tensor = blocks / torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    return unit.flatten(-2)


def project_to_tangent(change: Tensor, tokens: Tensor, block: int) -> Tensor:
    """Return Proj_X(Y) = (Id - x x^T) y for every block x of N channels (5)."""
    ours, theirs = (split_blocks(part, block) for part in (tokens, change))
    return (theirs - (ours * theirs).sum(-1, keepdim=True) * ours).flatten(-2)


def rotate_pairs(tokens: Tensor) -> Tensor:
    """Turn (x_1, x_2) to (x_2, -x_1) in every pair of channels: Omega at omega = 1."""
    first, second = split_blocks(tokens, 2).unbind(-1)
    return torch.stack([second, -first], dim=-1).flatten(-2)


def rotation_frequencies(parameters: Parameters, tokens: Tensor) -> Tensor:
    """Return the factor of `rotate_pairs`: one omega, or that of the plane of each channel."""
    if "omegas" in parameters:
        return broadcast_row(parameters["omegas"].repeat_interleave(2, dim=-1), tokens)
    return broadcast_scalar(parameters["omega"], tokens)


def broadcast_scalar(value: Tensor, tokens: Tensor) -> Tensor:
    """Return one number per seed [...] with the axes of tokens, to multiply them by."""
    return value.reshape(*value.shape, *[1] * (tokens.ndim - value.ndim))


def broadcast_row(row: Tensor, tokens: Tensor) -> Tensor:
    """Return one row per seed [..., D] with the axes of tokens, to add or multiply."""
    return row.reshape(*row.shape[:-1], *[1] * (tokens.ndim - row.ndim), -1)
