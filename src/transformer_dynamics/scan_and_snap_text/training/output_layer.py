"""The output layer over the whole vocabulary and its cross-entropy, with their gradient.

Nearly all of a step is spent here. The gradient is written out, because autograd would hold and
pass over the [tokens, words] logits several times; the vocabulary is cut into blocks, because the
products are faster on them.
"""

from typing import NamedTuple

import torch
from torch import Tensor

BLOCK = 1024
"""Number of words of the vocabulary that are multiplied at once."""


class OutputLayer(NamedTuple):
    """A linear layer from hidden states to the logits of the next word, or its gradient."""

    weight: Tensor
    """[V, d] Weights of each word's logit."""
    bias: Tensor
    """[V] Bias of each word's logit."""

    def blocks(self) -> list["OutputLayer"]:
        """Return views of the layer for successive words, up to `BLOCK` words each."""
        starts = range(0, len(self.bias), BLOCK)
        return [OutputLayer(*(part[start : start + BLOCK] for part in self)) for start in starts]


class Loss(NamedTuple):
    """A mean cross-entropy and its gradient."""

    value: Tensor
    """[] Mean cross-entropy in nats."""
    hidden: Tensor
    """[N, d] Gradient with respect to the hidden states."""
    layer: OutputLayer
    """Gradient with respect to the output layer."""


def cross_entropy(hidden: Tensor, layer: OutputLayer, targets: Tensor) -> Tensor:
    """Return [N] the cross-entropy of each next word: log sum_v exp(w_v.h + b_v) - (w_y.h + b_y).

    Hidden states are [N, d], targets the [N] ids of the next words; the unit is nats.
    """
    blocks, largest = _logits(hidden, layer)
    partition = torch.zeros_like(largest)
    for block in blocks:
        partition += block.sub_(largest).exp_().sum(dim=1, keepdim=True)
    return _losses(hidden, layer, targets, largest, partition)


def cross_entropy_gradient(hidden: Tensor, layer: OutputLayer, targets: Tensor) -> Loss:
    """Return the mean of `cross_entropy` and its gradient.

    With p_iv = softmax_v(w_v.h_i + b_v) and g_iv = (p_iv - [v = y_i]) / N, the gradients are
    dL/dh = g W, dL/dW = g^T h and dL/db_v = sum_i g_iv.
    """
    blocks, largest = _logits(hidden, layer)
    partition, unscaled = torch.zeros_like(largest), torch.zeros_like(hidden)
    for block, part in zip(blocks, layer.blocks(), strict=True):
        partition += block.sub_(largest).exp_().sum(dim=1, keepdim=True)
        unscaled.addmm_(block, part.weight)
    count = len(targets)
    # p = e / partition: the factor goes to the smaller matrix of each product.
    share = 1 / (count * partition)
    scaled = hidden * share
    gradient = OutputLayer(torch.empty_like(layer.weight), torch.empty_like(layer.bias))
    for block, part in zip(blocks, gradient.blocks(), strict=True):
        torch.mm(block.T, scaled, out=part.weight)
        torch.mv(block.T, share[:, 0], out=part.bias)
    gradient.weight.index_add_(0, targets, hidden, alpha=-1 / count)
    gradient.bias.index_add_(0, targets, hidden.new_ones(count), alpha=-1 / count)
    of_hidden = unscaled.mul_(share).sub_(layer.weight[targets], alpha=1 / count)
    losses = _losses(hidden, layer, targets, largest, partition)
    return Loss(losses.mean(), of_hidden, gradient)


def _logits(hidden: Tensor, layer: OutputLayer) -> tuple[list[Tensor], Tensor]:
    """Return [N, up to BLOCK] logits of each block of the vocabulary, and [N, 1] their maximum."""
    blocks = [torch.addmm(part.bias, hidden, part.weight.T) for part in layer.blocks()]
    largest = torch.stack([block.amax(dim=1) for block in blocks]).amax(dim=0)
    return blocks, largest[:, None]


def _losses(
    hidden: Tensor, layer: OutputLayer, targets: Tensor, largest: Tensor, partition: Tensor
) -> Tensor:
    of_target = (hidden * layer.weight[targets]).sum(dim=1) + layer.bias[targets]
    return (partition.log() + largest)[:, 0] - of_target
