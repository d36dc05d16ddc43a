"""Small networks on which the paper's statements are computed exactly, in float64.

f(x) = V phi(x) + b, where phi takes parameters theta^phi and inputs. The parameters are a mapping
of names to tensors, so that some of them can be differentiated alone. Networks are drawn by a
generator: inputs have d numbers, features h (`width`), and there are C classes.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.encoders.head import Head

Body = dict[str, Tensor]
"""Parameters theta^phi by name."""
FeatureMap = Callable[[Mapping[str, Tensor], Tensor], Tensor]
"""Feature map phi: parameters and inputs [n, ...] to features [n, h]."""


class Network(NamedTuple):
    """A feature map at some parameters, with a head."""

    map: FeatureMap
    """Feature map phi."""
    body: Body
    """Parameters theta^phi."""
    head: Head
    """Head V and b."""

    def features(self, inputs: Tensor) -> Tensor:
        """Return phi(x) of each input: [n, ...] to [n, h]."""
        return self.map(self.body, inputs)

    def logits(self, inputs: Tensor) -> Tensor:
        """Return f(x) of each input: [n, ...] to [n, C]."""
        return self.head.logits(self.features(inputs))


def linear_map(body: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Return phi(x) = B x with B [h, d], as in Cor. 4.3 and Prop. 4.4."""
    return inputs @ body["B"].T


def perceptron_map(body: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """Return phi(x) = tanh(W_2 tanh(W_1 x + a_1) + a_2)."""
    hidden = torch.tanh(inputs @ body["W_1"].T + body["a_1"])
    return torch.tanh(hidden @ body["W_2"].T + body["a_2"])


def transformer_map(body: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Return position 0 of a Post-LN encoder layer with two heads on embedded tokens [n, T]."""
    width = body["tokens"].shape[1]
    length = tokens.shape[-1]
    state = body["tokens"][tokens] + body["positions"][:length]

    def heads(name: str) -> Tensor:
        projected = state @ body[name].T
        return projected.reshape(*state.shape[:-1], 2, width // 2).transpose(-3, -2)

    scores = heads("query") @ heads("key").transpose(-1, -2) / math.sqrt(width // 2)
    attended = (torch.softmax(scores, -1) @ heads("value")).transpose(-3, -2).flatten(-2)
    state = _normalise(state + attended @ body["output"].T, body, "first")
    inner = torch.nn.functional.gelu(state @ body["in"].T)
    return _normalise(state + inner @ body["out"].T, body, "second")[..., 0, :]


def _normalise(state: Tensor, body: Mapping[str, Tensor], which: str) -> Tensor:
    gain, shift = body[f"{which}_gain"], body[f"{which}_shift"]
    return torch.nn.functional.layer_norm(state, gain.shape, gain, shift, eps=1e-12)


def linear_network(inputs: int, width: int, classes: int, random: torch.Generator) -> Network:
    """Draw a `linear_map` of inputs [d] to features [h], with a head."""
    body = {"B": _draw_normal(random, width, inputs)}
    return Network(linear_map, body, _draw_head(classes, width, random))


def perceptron_network(inputs: int, width: int, classes: int, random: torch.Generator) -> Network:
    """Draw a `perceptron_map` of inputs [d] to features [h], of width h, with a head."""
    body = {
        "W_1": _draw_normal(random, width, inputs),
        "a_1": 0.1 * _draw_normal(random, width),
        "W_2": _draw_normal(random, width, width),
        "a_2": 0.1 * _draw_normal(random, width),
    }
    return Network(perceptron_map, body, _draw_head(classes, width, random))


def transformer_network(
    vocabulary_size: int, length: int, width: int, classes: int, random: torch.Generator
) -> Network:
    """Draw a `transformer_map` of at most `length` tokens to features [h], with a head.

    The width h is even; the feed-forward part has 2 h.
    """
    square = ("query", "key", "value", "output")
    body = {
        "tokens": math.sqrt(width) * _draw_normal(random, vocabulary_size, width),
        "positions": 0.3 * math.sqrt(width) * _draw_normal(random, length, width),
        **{name: _draw_normal(random, width, width) for name in square},
        "in": _draw_normal(random, 2 * width, width),
        "out": _draw_normal(random, width, 2 * width),
    }
    for which in ("first", "second"):
        body[f"{which}_gain"] = 1 + 0.1 * _draw_normal(random, width)
        body[f"{which}_shift"] = 0.1 * _draw_normal(random, width)
    return Network(transformer_map, body, _draw_head(classes, width, random))


def _draw_head(classes: int, width: int, random: torch.Generator) -> Head:
    return Head(_draw_normal(random, classes, width), 0.1 * _draw_normal(random, classes))


def _draw_normal(random: torch.Generator, *shape: int) -> Tensor:
    """Draw entries of variance 1/(last size), so that a product keeps the size of its input."""
    drawn = torch.randn(shape, generator=random, dtype=torch.float64)
    return drawn / math.sqrt(shape[-1])
