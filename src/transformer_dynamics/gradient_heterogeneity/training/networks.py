"""One view of all networks: a loss of tensors by name, and a description of these tensors.

A network is a function of its parameters and of some samples. What is trained or measured hands it
parameters that it may differentiate, replace or scale. The network keeps nothing but running
statistics of batches, where it has them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.gradient_heterogeneity.theory.curvature import (
    Product,
    TopEigenvalue,
    block_product,
)
from transformer_dynamics.gradient_heterogeneity.theory.placement import Kind
from transformer_dynamics.gradient_heterogeneity.training.optimisers import Tensors

Iterate = Callable[[Product, Tensor, torch.Generator], TopEigenvalue]
"""Iteration for an eigenvalue: it takes v -> H v, a tensor of v's shape, and the generator of its
start."""
UNLABELLED = -100
"""Label that counts for nothing, as in PyTorch's cross-entropy."""


class Block(NamedTuple):
    """One tensor of a network, b."""

    layer: int
    """Number of the layer: 0 before the first layer, such as embeddings; 1 to L; L + 1 after the
    last; L + 2 the head, which alone has its number."""
    kind: Kind
    """Kind of the tensor: matrices are hidden ones and kernels; scales of a branch are
    `normalisation`, too."""
    size: int
    """Number P_b of entries as published, even where rows that never occur are left out."""


class Samples(Protocol):
    """Labelled samples of whatever form."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """[n, ...] Numbers of classes."""

    def take(self, indices: NDArray[np.int64], /) -> Self:
        """Return the samples at some places, in the order given."""


class Forward(Protocol):
    """A network as a function of its parameters."""

    def __call__(self, parameters: Mapping[str, Tensor], batch: Any, training: bool, /) -> Tensor:
        """Return logits [n, ..., C]; dropout and statistics of the batch act in training only."""


@dataclass(frozen=True)
class Network:
    """A network, the parameters that training starts from, and its samples."""

    forward: Forward
    """Function that gives the logits of parameters and samples."""
    start: Tensors
    """Parameters theta_0 by name, all that is trained; they stay as they are."""
    blocks: dict[str, Block]
    """Layer, kind and size of each tensor, in the order of `start`."""
    train: Any
    """Samples that are trained on, as all three `Samples` of one type."""
    validation: Any
    """Samples that settings are chosen on; as many as were asked for, perhaps none."""
    test: Any
    """Samples that are reported on."""
    statistics: Tensors = field(default_factory=dict)
    """Running statistics, which a forward pass in training changes in place; kept and set again
    where a run goes on."""
    frozen: Tensors = field(default_factory=dict)
    """Tensors that are not trained."""

    def logits(
        self, parameters: Mapping[str, Tensor], batch: Samples, *, training: bool = False
    ) -> Tensor:
        """Return logits [n, ..., C]; in `training` dropout and the statistics of the batch act.

        Parameters have the names of `start`, samples the type of `train`.
        """
        return self.forward({**self.frozen, **parameters}, batch, training)

    def loss(
        self, parameters: Mapping[str, Tensor], batch: Samples, *, training: bool = False
    ) -> Tensor:
        """Return the mean cross-entropy of a batch in nats; see `logits`."""
        return cross_entropy(self.logits(parameters, batch, training=training), batch.labels)

    def gradients(
        self, parameters: Mapping[str, Tensor], batch: Samples, *, training: bool = False
    ) -> tuple[float, Tensors]:
        """Return the loss of a batch and its gradient, zero where the loss lacks a tensor."""
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}
        loss = self.loss(leaves, batch, training=training)
        found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
        return float(loss.detach()), {
            name: torch.zeros_like(leaf) if gradient is None else gradient
            for (name, leaf), gradient in zip(leaves.items(), found, strict=True)
        }

    def curvature(
        self,
        parameters: Mapping[str, Tensor],
        batch: Samples,
        gradients: Mapping[str, Tensor],
        name: str,
        seed: int,
        iterate: Iterate,
    ) -> tuple[float, int]:
        """Find the largest eigenvalue of the Hessian block of the tensor `name`.

        Returns the eigenvalue, and the number of Hessian-vector products that it took. The
        gradients are those of the loss of the batch; the seed is of the starting vector.
        """
        if not gradients[name].any():
            # The loss does not depend on it; autograd has no second derivatives then.
            return 0.0, 0
        product = block_product(lambda theta: self.loss(theta, batch), parameters, name)
        key = int(generator(seed, f"start of {name}").integers(2**62))
        top = iterate(product, parameters[name], torch.Generator().manual_seed(key))
        return top.eigenvalue, top.products

    def _parts(self, samples: Samples, size: int) -> Iterator[Samples]:
        """Cut many samples into parts that are computed at once."""
        for first in range(0, len(samples.labels), size):
            yield samples.take(np.arange(first, min(first + size, len(samples.labels))))

    @torch.no_grad()
    def evaluate(
        self, parameters: Mapping[str, Tensor], samples: Samples, size: int = 64
    ) -> tuple[float, float]:
        """Return mean cross-entropy and accuracy of n >= 1 samples, `size` at once, no dropout."""
        total = right = number = 0.0
        for batch in self._parts(samples, size):
            logits = self.logits(parameters, batch)
            labels = _labels(logits, batch.labels)
            counted = int((labels != UNLABELLED).sum())
            total += float(cross_entropy(logits, batch.labels)) * counted
            right += int((logits.argmax(dim=-1) == labels).sum())
            number += counted
        return total / number, right / number

    @torch.no_grad()
    def predict(
        self, parameters: Mapping[str, Tensor], samples: Samples, size: int = 64
    ) -> NDArray[np.int64]:
        """Return the most probable class [n] of every sample, `size` at once, no dropout."""
        found = [np.empty(0, np.int64)]
        for batch in self._parts(samples, size):
            found.append(self.logits(parameters, batch).argmax(dim=-1).cpu().numpy())
        return np.concatenate(found)

    @property
    def head_names(self) -> tuple[str, str]:
        """Names of the head's V and b: the one tensor of its kind, and the bias of its layer."""
        (weight,) = (name for name, block in self.blocks.items() if block.kind == "head")
        (bias,) = (
            name
            for name, block in self.blocks.items()
            if block.kind == "bias" and block.layer == self.blocks[weight].layer
        )
        return weight, bias

    def freeze(self, *kinds: Kind) -> "Network":
        """Return the same network of which some kinds of tensors are not trained."""
        fixed = {name for name, block in self.blocks.items() if block.kind in kinds}
        return replace(
            self,
            start={name: tensor for name, tensor in self.start.items() if name not in fixed},
            blocks={name: block for name, block in self.blocks.items() if name not in fixed},
            frozen=self.frozen | {name: self.start[name] for name in self.start if name in fixed},
        )


def cross_entropy(logits: Tensor, labels: NDArray[np.int64]) -> Tensor:
    """Return the mean over all labels that count: logits [n, ..., C] and labels [n, ...] to []."""
    given = _labels(logits, labels)
    return nn.functional.cross_entropy(logits.flatten(0, -2), given.flatten())


def _labels(logits: Tensor, labels: NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(labels)).to(logits.device)


Inputs = Callable[[Any, Tensor], Sequence[Tensor]]
"""Inputs of a module for some samples, on the device and in the type of a parameter."""


class HeadedModule(nn.Module):
    """f(x) = V dropout(phi(x)) + b."""

    def __init__(
        self,
        body: nn.Module,
        features: Callable[..., Tensor],
        head: Head,
        dropout: float = 0.0,
    ) -> None:
        """Put a head on a module, which is not copied.

        `features` maps `body` and inputs to phi [n, h]; `dropout` is the probability of a feature
        to be left out in training.
        """
        super().__init__()
        self.body = body
        classes, width = head.weight.shape
        self.head = nn.Linear(width, classes)
        self.head.load_state_dict(head._asdict())
        self.features = features
        self.dropout = nn.Dropout(dropout)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return logits [n, C]."""
        logits: Tensor = self.head(self.dropout(self.features(self.body, *inputs)))
        return logits


def module_forward(module: HeadedModule, inputs: Inputs) -> Forward:
    """Return a module as a function of its parameters; those that are not given are its own.

    `inputs` makes the inputs of the module.
    """

    def forward(parameters: Mapping[str, Tensor], batch: Any, training: bool) -> Tensor:
        module.train(training)
        given = tuple(inputs(batch, parameters["head.weight"]))
        logits: Tensor = torch.func.functional_call(module, dict(parameters), given)
        return logits

    return forward


def copy_parameters(module: nn.Module) -> Tensors:
    """Return a copy of a module's parameters by name."""
    return {name: tensor.detach().clone() for name, tensor in module.named_parameters()}


LAYER = re.compile(r"\b(?:layers?|blocks)\.(\d+)\.")
"""Number of a layer from 0, in the name of a tensor."""
KINDS: tuple[tuple[str, Kind], ...] = (
    (r"bias$", "bias"),
    (r"^head\.", "head"),
    (r"norm|\.lambda", "normalisation"),
    (r"embed|_token$|\.stem\.|relative_attention_bias", "embedding"),
)
"""Pattern in a name and kind of a tensor, of which the first that is found counts; all others are
matrices."""
AFTER = re.compile(r"^body\.(?:layernorm|top)\.")
"""Names of tensors after the last layer."""


def describe_blocks(start: Mapping[str, Tensor]) -> dict[str, Block]:
    """Return layer, kind and size of each tensor of a `HeadedModule`, by its name."""
    layers = {name: int(found[1]) + 1 for name in start if (found := LAYER.search(name))}
    depth = max(layers.values(), default=0)
    blocks = {}
    for name, tensor in start.items():
        layer = layers.get(name, 0)
        if AFTER.match(name):
            layer = depth + 1
        elif name.startswith("head."):
            layer = depth + 2
        kinds = (kind for pattern, kind in KINDS if re.search(pattern, name.lower()))
        blocks[name] = Block(layer, next(kinds, "matrix"), tensor.numel())
    return blocks
