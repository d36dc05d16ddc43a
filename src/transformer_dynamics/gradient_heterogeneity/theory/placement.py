"""Place of layer normalisation in a transformer, and its random weights.

    Post-LN   x <- LN(x + f(x))         after every branch f; one more LN before the first
    Pre-LN    x <- x + f(LN(x))         before every branch; one more LN after the last

Both have the same tensors, so that one draw initialises a matched pair.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from replication.base.errors import InputError

Parameters = dict[str, Tensor]
"""Tensors of a stack by name: `0.query`, `0.query_bias`, `0.first_gain`, ..., `tokens`, `head`."""
Kind = Literal["matrix", "embedding", "normalisation", "head", "bias"]
"""Kind of a tensor. Gains are `normalisation`; its shifts are biases."""
SQUARE = ("query", "key", "value", "output")
"""Matrices [d, d] of a layer's attention."""
BRANCHES = ("first", "second")
"""Branches of a layer, each with a normalisation: attention, then the feed-forward part."""
EPSILON = 1e-12
"""Number that is added to a variance, as in BERT."""


class Stack(NamedTuple):
    """A transformer encoder with a linear head."""

    placement: Literal["post", "pre"]
    """Place of the normalisation."""
    depth: int
    """Number L of layers, each of two branches."""
    heads: int
    """Number H of heads of attention, a divisor of d."""


class Sizes(NamedTuple):
    """Sizes of the tensors of a stack."""

    width: int
    """Number d of channels; the feed-forward part has 4 d."""
    vocabulary: int
    """Number of tokens."""
    length: int
    """Largest number T of tokens of a text."""
    classes: int
    """Number C of classes."""


def initial_parameters(
    depth: int,
    sizes: Sizes,
    random: np.random.Generator,
    deviation: float | None = None,
    embeddings: float = 1.0,
) -> Parameters:
    """Draw random parameters in float64, the same for both placements. Gains are 1, biases 0.

    `deviation` is the standard deviation of all matrices; without it they are those of PyTorch's
    layers, U(+-1/sqrt(inputs)), and U(+-sqrt(6/(4 d))) for query, key and value. `embeddings` is
    that of embeddings, 1 in PyTorch and .02 in BERT. Their scale matters to Pre-LN alone: it is
    where the stream starts.
    """
    d = sizes.width

    def normal(rows: int, columns: int, scale: float) -> Tensor:
        return torch.from_numpy(random.normal(0.0, scale, (rows, columns)))

    def matrix(rows: int, columns: int, half: float | None = None) -> Tensor:
        if deviation is not None:
            return normal(rows, columns, deviation)
        half = columns**-0.5 if half is None else half
        return torch.from_numpy(random.uniform(-half, half, (rows, columns)))

    body = {
        "tokens": normal(sizes.vocabulary, d, embeddings),
        "positions": normal(sizes.length, d, embeddings),
    }
    body |= _normalisation("edge", d)
    for layer in range(depth):
        joint = (6 / (4 * d)) ** 0.5
        linear = {name: matrix(d, d, joint) for name in SQUARE[:3]}
        linear |= {"output": matrix(d, d), "in": matrix(4 * d, d), "out": matrix(d, 4 * d)}
        body |= {f"{layer}.{name}": tensor for name, tensor in linear.items()}
        body |= {
            f"{layer}.{name}_bias": tensor.new_zeros(len(tensor)) for name, tensor in linear.items()
        }
        for branch in BRANCHES:
            body |= _normalisation(f"{layer}.{branch}", d)
    head = matrix(sizes.classes, d)
    return body | {"head": head, "head_bias": head.new_zeros(sizes.classes)}


def _normalisation(name: str, width: int) -> Parameters:
    one = torch.ones(width, dtype=torch.float64)
    return {f"{name}_gain": one, f"{name}_shift": torch.zeros_like(one)}


def tensor_kind(name: str) -> Kind:
    """Return the kind of the tensor of a name."""
    last = name.rpartition(".")[2]
    if last in {"tokens", "positions"}:
        return "embedding"
    if last == "head":
        return "head"
    ends: dict[str, Kind] = {"bias": "bias", "shift": "bias", "gain": "normalisation"}
    return ends.get(last.rpartition("_")[2], "matrix")


def logits(stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Return the logits of every position: tokens [n, T] to [n, T, C]."""
    return head_logits(parameters, final_states(stack, parameters, tokens))


def head_logits(parameters: Mapping[str, Tensor], state: Tensor) -> Tensor:
    """Return the logits of states: [..., d] to [..., C]."""
    return torch.nn.functional.linear(state, parameters["head"], parameters["head_bias"])


def final_states(
    stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor, real: Tensor | None = None
) -> Tensor:
    """Return the states that the head sees: tokens [n, T] to [n, T, d].

    `real` [n, T] tells tokens from padding, which nothing attends to; by default all are tokens.
    """
    state = embed_tokens(stack, parameters, tokens)
    for layer in range(stack.depth):
        for branch in BRANCHES:
            state = next_state(stack, parameters, f"{layer}.{branch}", state, real)
    return normalise(parameters, "edge", state) if stack.placement == "pre" else state


def embed_tokens(stack: Stack, parameters: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Return x_0 [n, T, d] of tokens [n, T]; an `InputError` for an unknown placement."""
    if stack.placement not in {"post", "pre"}:
        raise InputError(f"normalisation stands post or pre, not {stack.placement}")
    state = parameters["tokens"][tokens] + parameters["positions"][: tokens.shape[-1]]
    return normalise(parameters, "edge", state) if stack.placement == "post" else state


def next_state(
    stack: Stack,
    parameters: Mapping[str, Tensor],
    branch: str,
    state: Tensor,
    real: Tensor | None = None,
) -> Tensor:
    """Return x_(l+1) [..., T, d] of x_l, through a branch such as `0.first`."""
    if stack.placement == "post":
        added = apply_branch(stack, parameters, branch, state, real)
        return normalise(parameters, branch, state + added)
    inner = normalise(parameters, branch, state)
    return state + apply_branch(stack, parameters, branch, inner, real)


def apply_branch(
    stack: Stack,
    parameters: Mapping[str, Tensor],
    branch: str,
    state: Tensor,
    real: Tensor | None = None,
) -> Tensor:
    """Return f(x) [..., T, d]: attention for `first`, W_out gelu(W_in x) for `second`."""
    layer, _, which = branch.rpartition(".")

    def linear(name: str, inputs: Tensor) -> Tensor:
        weight, bias = parameters[f"{layer}.{name}"], parameters[f"{layer}.{name}_bias"]
        return torch.nn.functional.linear(inputs, weight, bias)

    if which == "second":
        return linear("out", torch.nn.functional.gelu(linear("in", state)))
    size = state.shape[-1] // stack.heads
    query, key, value = (
        linear(name, state).reshape(*state.shape[:-1], stack.heads, size).transpose(-3, -2)
        for name in SQUARE[:3]
    )
    scores = query @ key.mT / size**0.5
    if real is not None:
        scores = scores.masked_fill(~real[..., None, None, :], -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return linear("output", (weights @ value).transpose(-3, -2).flatten(-2))


def normalise(parameters: Mapping[str, Tensor], name: str, state: Tensor) -> Tensor:
    """Return LN(x) = gain (x - mean)/sd + shift over the last axis."""
    gain, shift = parameters[f"{name}_gain"], parameters[f"{name}_shift"]
    return torch.nn.functional.layer_norm(state, gain.shape, gain, shift, EPSILON)
