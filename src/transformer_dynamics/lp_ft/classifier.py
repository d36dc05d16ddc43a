"""An encoder with a head, of which all or a few parameters are trained."""

import torch
from torch import Tensor, nn

from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import features
from transformer_dynamics.lp_ft.run_settings import Adapters

ADAPTED = ("query", "value", "attn.q", "attn.v")
"""Ends of the names of the matrices that get adapters, in BERT and RoBERTa, and in MPNet."""


class Classifier(nn.Module):
    """f(x) = V dropout(phi(x)) + b."""

    def __init__(self, encoder: nn.Module, head: Head) -> None:
        """Put a head on an encoder, which is not copied.

        Args:
            encoder: as `encoders.model.build` gives it.
            head: V and b, which are copied.
        """
        super().__init__()
        self.encoder = encoder
        self.weight = nn.Parameter(head.weight.clone())
        self.bias = nn.Parameter(head.bias.clone())
        self.dropout = nn.Dropout(float(encoder.config.hidden_dropout_prob))  # type: ignore[union-attr, arg-type]

    def forward(self, tokens: Tensor, lengths: Tensor, seconds: Tensor) -> Tensor:
        """Logits [n, C].

        Args:
            tokens: [n, T].
            lengths: [n] how many are no padding.
            seconds: [n] where the second text of a pair begins.
        """
        phi = self.dropout(features(self.encoder, tokens, lengths, seconds))
        return self.head.logits(phi)

    @property
    def head(self) -> Head:
        """V and b as they are now."""
        return Head(self.weight, self.bias)

    @property
    def trained(self) -> dict[str, Tensor]:
        """The parameters that are trained, by name."""
        return {name: each for name, each in self.named_parameters() if each.requires_grad}


class Adapted(nn.Module):
    """W x + (alpha/r) B A x + c, where W and c stay as they are."""

    def __init__(self, linear: nn.Linear, a: Tensor, alpha: float) -> None:
        """Adapt a linear map.

        Args:
            linear: W and c.
            a: [r, d_in] A.
            alpha: scale of the adapter.
        """
        super().__init__()
        self.linear = linear
        self.a = nn.Parameter(a)
        self.b = nn.Parameter(a.new_zeros(linear.out_features, len(a)))
        self.scale = alpha / len(a)

    def forward(self, x: Tensor) -> Tensor:
        """[..., d_in] to [..., d_out]."""
        low: Tensor = self.linear(x) + self.scale * ((x @ self.a.T) @ self.b.T)
        return low


def adapt(encoder: nn.Module, adapters: Adapters, seed: int) -> None:
    """Freeze an encoder and give its queries and values adapters, in place.

    A is drawn as PyTorch's kaiming_uniform with a = sqrt 5, uniform within 1/sqrt(d_in); B = 0.

    Args:
        encoder: as `encoders.model.build` gives it.
        adapters: r and alpha.
        seed: of A.
    """
    encoder.requires_grad_(False)
    random = generator(seed, "adapters")
    adapted = [
        (name, module)
        for name, module in encoder.named_modules()
        if name.endswith(ADAPTED) and isinstance(module, nn.Linear)
    ]
    for name, linear in adapted:
        bound = linear.in_features**-0.5
        a = random.uniform(-bound, bound, (adapters.rank, linear.in_features))
        parent, _, own = name.rpartition(".")
        given = torch.from_numpy(a).to(linear.weight)
        setattr(encoder.get_submodule(parent), own, Adapted(linear, given, adapters.alpha))
