"""Coordinates and rates of blocks by what gradients and curvature are before training."""

from math import exp
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.batches import batch_of
from transformer_dynamics.gradient_heterogeneity.curvature import (
    block_product,
    largest_eigenvalue,
)
from transformer_dynamics.gradient_heterogeneity.nets import Net
from transformer_dynamics.gradient_heterogeneity.run_settings import Blocks, Training
from transformer_dynamics.gradient_heterogeneity.training import Coordinates

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """What blocks are before training; NaN is not measured."""

    norms: Floats
    """[B] root mean square of ||g_b|| over batches."""
    curvatures: Floats
    """[B] h_b >= 0."""


def measured(training: Training, net: Net, seed: int) -> Measured:
    """Measure what a way of training needs to know, without dropout.

    Args:
        training: coordinates need gradients, rates need curvatures.
        net: the network.
        seed: of batches and of starting vectors.
    """
    blocks, size = training.blocks, _size(training, net)
    unknown = np.full(len(net.blocks), np.nan)
    return Measured(
        gradient_norms(net, seed, size, blocks.batches)
        if blocks and training.exponent
        else unknown,
        curvatures(net, seed, size, blocks) if blocks and training.block_rates else unknown,
    )


def _size(training: Training, net: Net) -> int:
    number = len(net.train.labels)
    return number if training.batch_size == "full" else min(training.batch_size, number)


def gradient_norms(net: Net, seed: int, size: int, batches: int) -> Floats:
    """[B] root mean square of ||g_b|| over the first batches of training.

    Args:
        net: the network.
        seed: of the batches.
        size: of a batch.
        batches: how many.
    """
    squares = np.zeros(len(net.blocks))
    for step in range(batches):
        batch = net.train.take(batch_of(seed, step, size, len(net.train.labels)))
        _, gradients = net.gradients(net.start, batch)
        squares += [float(gradients[name].double().square().sum()) for name in net.blocks]
    return np.sqrt(squares / batches)


def curvatures(net: Net, seed: int, size: int, blocks: Blocks) -> Floats:
    """[B] the largest eigenvalue of every block's own Hessian on the first batch, at least 0.

    Args:
        net: the network.
        seed: of the batch and of starting vectors.
        size: of the batch.
        blocks: how long the iteration goes on.
    """
    batch = net.train.take(batch_of(seed, 0, size, len(net.train.labels)))
    _, gradients = net.gradients(net.start, batch)
    found = []
    for name, start in net.start.items():
        if not gradients[name].any():
            # The loss does not depend on it; autograd has no second derivatives then.
            found.append(0.0)
            continue
        key = int(generator(seed, f"start of {name}").integers(2**62))
        top = largest_eigenvalue(
            block_product(lambda theta: net.loss(theta, batch), net.start, name),
            start,
            torch.Generator().manual_seed(key),
            blocks.least,
            blocks.tolerance,
            blocks.products,
        )
        found.append(max(top.eigenvalue, 0.0))
    return np.array(found)


def coordinates(training: Training, net: Net, found: Measured) -> Coordinates:
    """Coordinates log s_b = q or -q, and rates eta_b/eta = median(h)/max(h_b, median(h)/limit).

    The median of curvatures is that of all tensors but biases, some of which the loss does not see.

    Args:
        training: q, and whether rates follow curvature.
        net: the network.
        found: what was measured.
    """
    scales, rates = {}, {}
    if training.exponent:
        sizes = np.array([block.size for block in net.blocks.values()])
        density = found.norms / np.sqrt(sizes)
        above = density > np.median(density)
        scales = {
            name: exp(training.exponent if is_above else -training.exponent)
            for name, is_above in zip(net.blocks, above, strict=True)
        }
    if training.blocks and training.block_rates:
        is_bias = np.array([block.kind == "bias" for block in net.blocks.values()])
        median = np.median(found.curvatures[~is_bias])
        followed = np.maximum(found.curvatures, median / training.blocks.limit)
        rates = dict(zip(net.blocks, (median / followed).tolist(), strict=True))
    return Coordinates(scales, rates)
