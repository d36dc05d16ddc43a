"""The recurrent models: one step, the loop, the readout.

Parameters are tensors by name, with the axis of seeds first where several are trained at once.
Tokens have the same leading axes: X [..., board, S, D].
"""

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.attention import Weights, attention, project
from transformer_dynamics.recurrent_attention.model_settings import Model

Parameters = Mapping[str, Tensor]


def effective_weights(model: Model, parameters: Parameters) -> Weights:
    """The matrices of attention that stand for the trained parameters.

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
        basis = _orthogonal(parameters, "basis")
        pairs = basis.reshape(*basis.shape[:-1], model.heads, 2, -1)
        first, second = (part.flatten(-2) for part in pairs.unbind(-2))
        swapped = pairs.flip(-2).flatten(-3)
        return Weights(first, second, basis, swapped.mT / 2)
    if model.projections == "orthogonal":
        value, output = (_orthogonal(parameters, name) for name in ("value", "output"))
        return Weights(parameters["query"], parameters["key"], value, output)
    return Weights(*(parameters[name] for name in Weights._fields))


def _orthogonal(parameters: Parameters, name: str) -> Tensor:
    """Q_0 (Id + S)^-1 (Id - S) with S anti-symmetric, 0 at first (Cayley)."""
    raw = parameters[f"{name}_angles"]
    skew = (raw - raw.mT) / 2
    identity = torch.eye(raw.shape[-1]).to(raw)
    turn: Tensor = torch.linalg.solve(identity + skew, identity - skew)
    return parameters[f"{name}_start"] @ turn


def step(model: Model, parameters: Parameters, tokens: Tensor, inputs: Tensor) -> Tensor:
    """X' of one iteration.

    * ItrSA (9): RMSNorm(X + eta (C + MSA(X))), without normalisation just the argument;
    * AKOrN (7)-(8): Pi(X + eta (Omg(X) + Proj_X(C + MSA(X))));
    * symmetric SA: Pi(X + eta Proj_X(C + SA(X))).

    Args:
        model: which model.
        parameters: with the leading axes of the tokens.
        tokens: X [..., board, S, D].
        inputs: C, of the same shape.
    """
    weights = effective_weights(model, parameters)
    return advance(model, parameters, weights, tokens, inputs)


def drive(model: Model, weights: Weights, tokens: Tensor, inputs: Tensor) -> Tensor:
    """Y = C + MSA(X), with beta = 1/sqrt(D/H)."""
    beta = 1 / sqrt(model.width / model.heads)
    return inputs + attention(tokens, weights, model.heads, beta)


def advance(
    model: Model, parameters: Parameters, weights: Weights, tokens: Tensor, inputs: Tensor
) -> Tensor:
    """`step` with matrices of attention that are at hand."""
    change = drive(model, weights, tokens, inputs)
    if model.kind != "itrsa":
        change = tangent(change, tokens, model.block)
    if model.kind == "akorn":
        change = change + frequencies(parameters, tokens) * rotated(tokens)
    moved = tokens + scalar(parameters["eta"], tokens) * change
    return normalise(model, parameters, moved)


def normalise(model: Model, parameters: Parameters, tokens: Tensor) -> Tensor:
    """Pi of every block of N channels (5), times gamma where the model is ItrSA (6).

    2-norms, with neither the factor sqrt(N) nor a small constant.
    """
    if not model.normalised:
        return tokens
    unit = unit_blocks(tokens, model.block)
    if model.kind != "itrsa":
        return unit
    return unit * _row(parameters["gamma"], tokens)


def in_blocks(tokens: Tensor, block: int) -> Tensor:
    """[..., D] as [..., D/N, N]."""
    return tokens.reshape(*tokens.shape[:-1], -1, block)


def unit_blocks(tokens: Tensor, block: int) -> Tensor:
    """Every block of N successive channels over its 2-norm."""
    blocks = in_blocks(tokens, block)
    unit: Tensor = blocks / torch.linalg.vector_norm(blocks, dim=-1, keepdim=True)
    return unit.flatten(-2)


def tangent(change: Tensor, tokens: Tensor, block: int) -> Tensor:
    """Proj_X(Y) = (Id - x x^T) y for every block x of N channels (5)."""
    ours, theirs = (in_blocks(part, block) for part in (tokens, change))
    return (theirs - (ours * theirs).sum(-1, keepdim=True) * ours).flatten(-2)


def rotated(tokens: Tensor) -> Tensor:
    """(x_1, x_2) to (x_2, -x_1) in every pair of channels, by which Omega turns at omega = 1."""
    first, second = in_blocks(tokens, 2).unbind(-1)
    return torch.stack([second, -first], dim=-1).flatten(-2)


def frequencies(parameters: Parameters, tokens: Tensor) -> Tensor:
    """By what `rotated` tokens are multiplied: one omega, or that of the plane of each channel."""
    if "omegas" in parameters:
        return _row(parameters["omegas"].repeat_interleave(2, dim=-1), tokens)
    return scalar(parameters["omega"], tokens)


def scalar(value: Tensor, tokens: Tensor) -> Tensor:
    """One number per seed, to multiply tokens by."""
    return value.reshape(*value.shape, *[1] * (tokens.ndim - value.ndim))


def embedded(parameters: Parameters, digits: Tensor) -> Tensor:
    """C = embedding of the digit (0 on blanks) + position, if there are positions.

    Args:
        parameters: with `embedding` [..., digits + 1, D], and maybe `positions` [..., S, D].
        digits: integers [..., board, S].

    Returns:
        [..., board, S, D].
    """
    table, places = parameters["embedding"], parameters.get("positions")
    if table.ndim == 2:
        return table[digits] if places is None else table[digits] + places
    flat = digits.flatten(1).unsqueeze(-1).expand(-1, -1, table.shape[-1])
    looked_up = table.gather(1, flat).reshape(*digits.shape, -1)
    return looked_up if places is None else looked_up + places.unsqueeze(1)


def initial_tokens(
    model: Model, parameters: Parameters, inputs: Tensor, blank: Tensor, noise: Tensor
) -> Tensor:
    """X_0: C on givens and noise on blanks, normalised.

    Args:
        model: which model.
        parameters: with gamma.
        inputs: C [..., board, S, D].
        blank: where no digit is given [..., board, S].
        noise: of the shape of C.
    """
    return normalise(model, parameters, torch.where(blank.unsqueeze(-1), noise, inputs))


def loop(
    model: Model, parameters: Parameters, tokens: Tensor, inputs: Tensor, loops: int
) -> Tensor:
    """X_T after T steps."""
    weights = effective_weights(model, parameters)
    for _ in range(loops):
        tokens = advance(model, parameters, weights, tokens, inputs)
    return tokens


def readout(parameters: Parameters, tokens: Tensor) -> Tensor:
    """Logits of the digits: norms m_k = |(U x)_k| + b (98), a residual layer, two linear ones.

    m <- m + W_2 relu(W_1 m + b_1) + b_2, then W_4 relu(W_3 relu(m) + b_3) + b_4.

    Args:
        parameters: with those of `initial`.
        tokens: X_T [..., board, S, D].

    Returns:
        [..., board, S, digits].
    """
    projected, bias = project(tokens, parameters["readout"]), parameters["readout_bias"]
    blocks = in_blocks(projected, projected.shape[-1] // bias.shape[-1])
    norms = (blocks.square().sum(-1) + 1e-12).sqrt() + _row(bias, tokens)
    hidden = torch.relu(_linear(parameters, 1, norms))
    features = torch.relu(norms + _linear(parameters, 2, hidden))
    return _linear(parameters, 4, torch.relu(_linear(parameters, 3, features)))


def _linear(parameters: Parameters, layer: int, tokens: Tensor) -> Tensor:
    bias = _row(parameters[f"bias_{layer}"], tokens)
    return project(tokens, parameters[f"layer_{layer}"]) + bias


def _row(bias: Tensor, tokens: Tensor) -> Tensor:
    return bias.reshape(*bias.shape[:-1], *[1] * (tokens.ndim - bias.ndim), -1)


def logits(
    model: Model, parameters: Parameters, digits: Tensor, noise: Tensor, loops: int
) -> Tensor:
    """The whole forward pass.

    Args:
        model: which model.
        parameters: of one run, or with the axis of seeds first.
        digits: givens, 0 on blanks [..., board, S].
        noise: of blanks [..., board, S, D].
        loops: T.

    Returns:
        [..., board, S, digits].
    """
    inputs = embedded(parameters, digits)
    tokens = initial_tokens(model, parameters, inputs, digits == 0, noise)
    return readout(parameters, loop(model, parameters, tokens, inputs, loops))
