"""The whole network: digits come in, tokens run through the loop, logits come out.

Parameters are tensors by name, with the axis of seeds first where several are trained at once.
"""

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.settings.models import Model
from transformer_dynamics.recurrent_attention.theory.attention import project_tokens
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    Parameters,
    broadcast_row,
    effective_weights,
    next_tokens,
    normalise_tokens,
    split_blocks,
)


def forward_logits(
    model: Model, parameters: Parameters, digits: Tensor, noise: Tensor, loops: int
) -> Tensor:
    """Return the logits of the whole forward pass of T = `loops` [..., board, S, digits].

    Givens are [..., board, S], 0 on blanks; the noise of blanks is [..., board, S, D].
    """
    inputs = embed_digits(parameters, digits)
    tokens = initial_tokens(model, parameters, inputs, digits == 0, noise)
    return readout_logits(parameters, final_tokens(model, parameters, tokens, inputs, loops))


def embed_digits(parameters: Parameters, digits: Tensor) -> Tensor:
    """Return C = embedding of the digit (0 on blanks) + position, if any [..., board, S, D].

    Digits are integers [..., board, S], parameters `embedding` [..., digits + 1, D] and `positions`
    [..., S, D].
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
    """Return X_0 [..., board, S, D]: C on givens and noise on blanks, normalised."""
    return normalise_tokens(model, parameters, torch.where(blank.unsqueeze(-1), noise, inputs))


def final_tokens(
    model: Model, parameters: Parameters, tokens: Tensor, inputs: Tensor, loops: int
) -> Tensor:
    """Return X_T after T steps from tokens X_0."""
    weights = effective_weights(model, parameters)
    for _ in range(loops):
        tokens = next_tokens(model, parameters, weights, tokens, inputs)
    return tokens


def readout_logits(parameters: Parameters, tokens: Tensor) -> Tensor:
    """Return logits [..., board, S, digits] from norms m_k = |(U x)_k| + b (98).

    Tokens X_T are [..., board, S, D]. A residual layer and two linear ones follow:
    m <- m + W_2 relu(W_1 m + b_1) + b_2, then W_4 relu(W_3 relu(m) + b_3) + b_4.
    """
    projected, bias = project_tokens(tokens, parameters["readout"]), parameters["readout_bias"]
    blocks = split_blocks(projected, projected.shape[-1] // bias.shape[-1])
    norms = (blocks.square().sum(-1) + 1e-12).sqrt() + broadcast_row(bias, tokens)
    hidden = torch.relu(_linear_layer(parameters, 1, norms))
    features = torch.relu(norms + _linear_layer(parameters, 2, hidden))
    return _linear_layer(parameters, 4, torch.relu(_linear_layer(parameters, 3, features)))


def _linear_layer(parameters: Parameters, layer: int, tokens: Tensor) -> Tensor:
    bias = broadcast_row(parameters[f"bias_{layer}"], tokens)
    return project_tokens(tokens, parameters[f"layer_{layer}"]) + bias
