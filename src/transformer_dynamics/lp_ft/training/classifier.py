"""An encoder with a head, of which all or a few parameters are trained."""

import torch
from torch import Tensor, nn

from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import features
from transformer_dynamics.lp_ft.settings.runs import Adapters

ADAPTED_LAYERS = ("query", "value", "attn.q", "attn.v")
"""Ends of the names of the matrices that get adapters, in BERT and RoBERTa, and in MPNet."""


class Classifier(nn.Module):
    """f(x) = V dropout(phi(x)) + b."""

    def __init__(self, encoder: nn.Module, head: Head) -> None:
        """Put a head, which is copied, on an encoder of `encoders.model.build`, which is not."""
        super().__init__()
        self.encoder = encoder
        self.weight = nn.Parameter(head.weight.clone())
        self.bias = nn.Parameter(head.bias.clone())
        self.dropout = nn.Dropout(float(encoder.config.hidden_dropout_prob))  # type: ignore[union-attr, arg-type]

    def forward(self, tokens: Tensor, lengths: Tensor, seconds: Tensor) -> Tensor:
        """Return logits [n, C] of tokens [n, T].

        Of these, `lengths` [n] are no padding; at `seconds` [n] the second text of a pair begins.
        """
        phi = self.dropout(features(self.encoder, tokens, lengths, seconds))
        return self.head.logits(phi)

    @property
    def head(self) -> Head:
        """Current V and b."""
        return Head(self.weight, self.bias)

    @property
    def trained_parameters(self) -> dict[str, Tensor]:
        """Trained parameters by name."""
        return {name: each for name, each in self.named_parameters() if each.requires_grad}


class AdaptedLinear(nn.Module):
    """W x + (alpha/r) B A x + c, where W and c stay as they are."""

    def __init__(self, linear: nn.Linear, a: Tensor, alpha: float) -> None:
        """Adapt a linear map, W and c, by A [r, d_in] at the scale alpha."""
        super().__init__()
        self.linear = linear
        self.a = nn.Parameter(a)
        self.b = nn.Parameter(a.new_zeros(linear.out_features, len(a)))
        self.scale = alpha / len(a)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output [..., d_out] for an input x [..., d_in]."""
        low: Tensor = self.linear(x) + self.scale * ((x @ self.a.T) @ self.b.T)
        return low


def adapted_layers(encoder: nn.Module) -> list[str]:
    """Return the names of the layers of queries and values."""
    return [
        name
        for name, module in encoder.named_modules()
        if name.endswith(ADAPTED_LAYERS) and isinstance(module, nn.Linear)
    ]


def draw_projections(
    encoder: nn.Module, adapters: Adapters, draws: int, seed: int
) -> list[dict[str, Tensor]]:
    """Draw A of every adapted layer, [r, d_in] uniform within 1/sqrt(d_in); LoRA has the first.

    This is PyTorch's kaiming_uniform with a = sqrt 5, in the encoder's type and place.
    """
    random = generator(seed, "adapters")
    found = []
    for _ in range(draws):
        projections: dict[str, Tensor] = {}
        for name in adapted_layers(encoder):
            weight: Tensor = encoder.get_submodule(name).weight  # type: ignore[assignment]
            width = weight.shape[1]
            a = random.uniform(-(width**-0.5), width**-0.5, (adapters.rank, width))
            # In the type in which it is trained, whatever that of the encoder is here.
            projections[name] = torch.from_numpy(a).float().to(weight)
        found.append(projections)
    return found


def add_adapters(encoder: nn.Module, adapters: Adapters, seed: int) -> None:
    """Freeze an encoder and give its queries and values adapters with B = 0, in place."""
    encoder.requires_grad_(False)
    (projections,) = draw_projections(encoder, adapters, 1, seed)
    for name, a in projections.items():
        parent, _, own = name.rpartition(".")
        linear: nn.Linear = encoder.get_submodule(name)  # type: ignore[assignment]
        setattr(encoder.get_submodule(parent), own, AdaptedLinear(linear, a, adapters.alpha))
