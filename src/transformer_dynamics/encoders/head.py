"""The linear layer on an encoder's features, f(x) = V phi(x) + b."""

from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.random_streams import generator

STANDARD_DEVIATION = 0.02
"""Default deviation of the entries of a random V, that of linear layers of BERT and RoBERTa."""


class Head(NamedTuple):
    """Linear layer on features, V and b."""

    weight: Tensor
    """[C, h] Matrix V; row v_k belongs to class k."""
    bias: Tensor
    """[C] Bias b."""

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits f = V phi + b, [..., C], of features phi [..., h]."""
        return features @ self.weight.T + self.bias

    @property
    def norm(self) -> float:
        """Norm ||V||_F; b does not count."""
        return float(torch.linalg.matrix_norm(self.weight.detach()))

    def scaled(self, factor: float) -> "Head":
        """Return the head (t V, t b), which multiplies all logits by t.

        No prediction changes for t > 0. Temperature scaling by T is t = 1/T.
        """
        return Head(self.weight * factor, self.bias * factor)


def random_head(
    classes: int, width: int, random: torch.Generator, deviation: float = STANDARD_DEVIATION
) -> Head:
    """Draw a head with V ~ N(0, s^2) and b = 0, so that ||V||_F ~ s sqrt(C h), in float32."""
    weight = torch.randn(classes, width, generator=random) * deviation
    return Head(weight, torch.zeros(classes))


def drawn_head(classes: int, width: int, seed: int, deviation: float = STANDARD_DEVIATION) -> Head:
    """Draw the random head of a seed, which all its runs share; entries of V have the deviation."""
    random = torch.Generator().manual_seed(int(generator(seed, "head").integers(2**62)))
    return random_head(classes, width, random, deviation)
