"""The transformer of Figures 7 and 10, written plainly so that its attention can be seen.

PyTorch's encoder of layers with the norm after each part, one head, as in the released code.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from transformer_dynamics.scan_and_snap_text.settings.training import TextModel
from transformer_dynamics.scan_and_snap_text.training.output_layer import OutputLayer

Dropout = Callable[[Tensor], Tensor]
"""A function that sets a random part of a tensor to zero and scales the rest, or leaves all."""


class Layer(NamedTuple):
    """Parameters of one layer; d is the model's width and h that of the feed-forward part."""

    projection: Tensor
    """[3d, d] Weights of queries, keys and values."""
    projection_bias: Tensor
    """[3d] Biases of queries, keys and values."""
    output: Tensor
    """[d, d] Weights of the output of attention."""
    output_bias: Tensor
    """[d] Biases of the output of attention."""
    attention_norm: Tensor
    """[2, d] Scale and shift of the norm after attention."""
    inner: Tensor
    """[h, d] Weights into the feed-forward part."""
    inner_bias: Tensor
    """[h] Biases within the feed-forward part."""
    outer: Tensor
    """[d, h] Weights out of the feed-forward part."""
    outer_bias: Tensor
    """[d] Biases of the feed-forward part's output."""
    forward_norm: Tensor
    """[2, d] Scale and shift of the norm after the feed-forward part."""


FEED_FORWARD = ("inner", "inner_bias", "outer", "outer_bias")
"""Parameters of a layer that have their own rate in Figure 7."""


class Parameters(NamedTuple):
    """All parameters of a model over V words."""

    embedding: Tensor
    """[V, d] Embedding of each word."""
    layers: list[Layer]
    """Layers from the lowest on."""
    output: OutputLayer
    """Output layer, which is not tied to the embedding."""


class Encoded(NamedTuple):
    """Output of the encoder for a batch."""

    hidden: Tensor
    """[B, T, d] Hidden states above the highest layer."""
    attention: list[Tensor]
    """[B, T, T] Attention of position i (the query) on position j <= i (the key), by layer."""


def initial_parameters(
    model: TextModel, vocabulary_size: int, random: torch.Generator
) -> Parameters:
    """Draw PyTorch's defaults of the layers, and within `initial_bound` for embedding and output.

    All layers begin equal, as `torch.nn.TransformerEncoder` copies the first one.
    """
    width, hidden = model.width, model.hidden

    def uniform(bound: float, *shape: int) -> Tensor:
        return torch.empty(shape).uniform_(-bound, bound, generator=random)

    norm = torch.stack([torch.ones(width), torch.zeros(width)])
    layer = Layer(
        projection=uniform(math.sqrt(6 / (4 * width)), 3 * width, width),
        projection_bias=torch.zeros(3 * width),
        output=uniform(1 / math.sqrt(width), width, width),
        output_bias=torch.zeros(width),
        attention_norm=norm.clone(),
        inner=uniform(1 / math.sqrt(width), hidden, width),
        inner_bias=uniform(1 / math.sqrt(width), hidden),
        outer=uniform(1 / math.sqrt(hidden), width, hidden),
        outer_bias=uniform(1 / math.sqrt(hidden), width),
        forward_norm=norm.clone(),
    )
    return Parameters(
        embedding=uniform(model.initial_bound, vocabulary_size, width),
        layers=[Layer(*(tensor.clone() for tensor in layer)) for _ in range(model.layers)],
        output=OutputLayer(
            weight=uniform(model.initial_bound, vocabulary_size, width),
            bias=torch.zeros(vocabulary_size),
        ),
    )


def sinusoidal_positions(length: int, width: int) -> Tensor:
    """Return positions [length, width]: sin and cos of i / 10000^(2k/width), interleaved."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def run_encoder(
    model: TextModel, layers: list[Layer], embedded: Tensor, dropout: Dropout
) -> Encoded:
    """Run the encoder on [B, T, d] embeddings, with dropout where PyTorch's encoder has it."""
    state = embedded * math.sqrt(model.width) if model.scaled_embeddings else embedded
    if model.positions:
        state = dropout(state + sinusoidal_positions(state.shape[1], model.width).to(state))
    attentions = []
    for layer in layers:
        attention = causal_attention(layer, state)
        attentions.append(attention)
        value = functional.linear(state, *_projection(layer, 2))
        mixed = functional.linear(dropout(attention) @ value, layer.output, layer.output_bias)
        state = _add_and_norm(model, state, dropout(mixed), layer.attention_norm)
        if model.feed_forward:
            inner = functional.linear(state, layer.inner, layer.inner_bias).relu()
            outer = functional.linear(dropout(inner), layer.outer, layer.outer_bias)
            state = _add_and_norm(model, state, dropout(outer), layer.forward_norm)
    return Encoded(state, attentions)


def causal_attention(layer: Layer, state: Tensor) -> Tensor:
    """Return the attention softmax_j(q_i.k_j / sqrt(d)) over j <= i, of states [B, T, d]."""
    query, key = (functional.linear(state, *_projection(layer, part)) for part in (0, 1))
    logits = query @ key.mT / math.sqrt(state.shape[-1])
    future = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).triu(1)
    return logits.masked_fill(future, -math.inf).softmax(dim=-1)


def _projection(layer: Layer, part: int) -> tuple[Tensor, Tensor]:
    """Return weight and bias of queries (0), keys (1) or values (2)."""
    return layer.projection.chunk(3)[part], layer.projection_bias.chunk(3)[part]


def _add_and_norm(model: TextModel, state: Tensor, change: Tensor, norm: Tensor) -> Tensor:
    total = state + change if model.residual else change
    return functional.layer_norm(total, (model.width,), norm[0], norm[1])
