"""Small networks on which the paper's statements are computed exactly, in float64.

f(x) = V phi(x) + b, where phi takes parameters theta^phi and inputs. The parameters are a mapping
of names to tensors, so that some of them can be differentiated alone.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.encoders.head import Head

Body = dict[str, Tensor]
"""theta^phi by name."""
FeatureMap = Callable[[Mapping[str, Tensor], Tensor], Tensor]
"""phi: parameters and inputs [n, ...] to features [n, h]."""


class Network(NamedTuple):
    """A feature map at some parameters, with a head."""

    map: FeatureMap
    """phi."""
    body: Body
    """theta^phi."""
    head: Head
    """V and b."""

    def features(self, inputs: Tensor) -> Tensor:
        """phi(x) of each input: [n, ...] to [n, h]."""
        return self.map(self.body, inputs)

    def logits(self, inputs: Tensor) -> Tensor:
        """f(x) of each input: [n, ...] to [n, C]."""
        return self.head.logits(self.features(inputs))


def linear_map(body: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """phi(x) = B x with B [h, d], as in Cor. 4.3 and Prop. 4.4."""
    return inputs @ body["B"].T


def perceptron_map(body: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """phi(x) = tanh(W_2 tanh(W_1 x + a_1) + a_2)."""
    hidden = torch.tanh(inputs @ body["W_1"].T + body["a_1"])
    return torch.tanh(hidden @ body["W_2"].T + body["a_2"])


def transformer_map(body: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
    """Position 0 of a Post-LN encoder layer with two heads on embedded tokens [n, T]."""
    width = body["tokens"].shape[1]
    length = tokens.shape[-1]
    state = body["tokens"][tokens] + body["positions"][:length]

    def heads(name: str) -> Tensor:
        projected = state @ body[name].T
        return projected.reshape(*state.shape[:-1], 2, width // 2).transpose(-3, -2)

    scores = heads("query") @ heads("key").transpose(-1, -2) / math.sqrt(width // 2)
    attended = (torch.softmax(scores, -1) @ heads("value")).transpose(-3, -2).flatten(-2)
    state = _normalised(state + attended @ body["output"].T, body, "first")
    inner = torch.nn.functional.gelu(state @ body["in"].T)
    return _normalised(state + inner @ body["out"].T, body, "second")[..., 0, :]


def _normalised(state: Tensor, body: Mapping[str, Tensor], which: str) -> Tensor:
    gain, shift = body[f"{which}_gain"], body[f"{which}_shift"]
    return torch.nn.functional.layer_norm(state, gain.shape, gain, shift, eps=1e-12)


def linear(inputs: int, width: int, classes: int, random: torch.Generator) -> Network:
    """A random `linear_map` of inputs [d] to features [h], with a random head.

    Args:
        inputs: d.
        width: h.
        classes: C.
        random: where all parameters are drawn from.
    """
    body = {"B": _normal(random, width, inputs)}
    return Network(linear_map, body, _head(classes, width, random))


def perceptron(inputs: int, width: int, classes: int, random: torch.Generator) -> Network:
    """A random `perceptron_map` of inputs [d] to features [h], with a random head.

    Args:
        inputs: d.
        width: h, of both layers.
        classes: C.
        random: where all parameters are drawn from.
    """
    body = {
        "W_1": _normal(random, width, inputs),
        "a_1": 0.1 * _normal(random, width),
        "W_2": _normal(random, width, width),
        "a_2": 0.1 * _normal(random, width),
    }
    return Network(perceptron_map, body, _head(classes, width, random))


def transformer(
    vocabulary_size: int, length: int, width: int, classes: int, random: torch.Generator
) -> Network:
    """A random `transformer_map` of tokens [T] to features [h], with a random head.

    Args:
        vocabulary_size: number of tokens.
        length: largest T.
        width: h, even; the feed-forward part has 2 h.
        classes: C.
        random: where all parameters are drawn from.
    """
    square = ("query", "key", "value", "output")
    body = {
        "tokens": math.sqrt(width) * _normal(random, vocabulary_size, width),
        "positions": 0.3 * math.sqrt(width) * _normal(random, length, width),
        **{name: _normal(random, width, width) for name in square},
        "in": _normal(random, 2 * width, width),
        "out": _normal(random, width, 2 * width),
    }
    for which in ("first", "second"):
        body[f"{which}_gain"] = 1 + 0.1 * _normal(random, width)
        body[f"{which}_shift"] = 0.1 * _normal(random, width)
    return Network(transformer_map, body, _head(classes, width, random))


def _head(classes: int, width: int, random: torch.Generator) -> Head:
    return Head(_normal(random, classes, width), 0.1 * _normal(random, classes))


def _normal(random: torch.Generator, *shape: int) -> Tensor:
    """Entries of variance 1/(last size), so that a product keeps the size of what it acts on."""
    drawn = torch.randn(shape, generator=random, dtype=torch.float64)
    return drawn / math.sqrt(shape[-1])
