"""Coordinates and rates of blocks, which follow gradients and curvature before training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer_dynamics.gradient_heterogeneity.data.batches import batch_indices
from transformer_dynamics.gradient_heterogeneity.settings.training import Blocks, Training
from transformer_dynamics.gradient_heterogeneity.theory.curvature import largest_eigenvalue
from transformer_dynamics.gradient_heterogeneity.training.networks import Network
from transformer_dynamics.gradient_heterogeneity.training.optimisers import Tensors

Floats = NDArray[np.float64]
Factors = Mapping[str, float]
"""Factor s_b or eta_b/eta by name of a block; 1 for blocks that are not named."""


@dataclass(frozen=True)
class Coordinates:
    """Scales and rates of blocks."""

    scales: Factors = field(default_factory=dict)
    """Scale s_b of each block by name."""
    rates: Factors = field(default_factory=dict)
    """Rate eta_b/eta of each block by name."""

    def scale(self, tensors: Mapping[str, Tensor]) -> Tensors:
        """Return tensors times s_b: theta of theta', or the gradient s_b g_b of g_b."""
        if not self.scales:
            return dict(tensors)
        return {name: tensor * self.scales.get(name, 1.0) for name, tensor in tensors.items()}

    def unscale(self, tensors: Mapping[str, Tensor]) -> Tensors:
        """Return tensors divided by s_b: theta' of theta."""
        if not self.scales:
            return dict(tensors)
        return {name: tensor / self.scales.get(name, 1.0) for name, tensor in tensors.items()}


class BlockMeasurement(NamedTuple):
    """Gradients and curvature of blocks before training; NaN is not measured."""

    norms: Floats
    """[B] Root mean square of ||g_b|| over batches."""
    curvatures: Floats
    """[B] Curvature h_b >= 0."""


def measure_blocks(training: Training, network: Network, seed: int) -> BlockMeasurement:
    """Measure the gradients that coordinates need, and the curvatures that rates need.

    There is no dropout. The seed is of batches and of starting vectors.
    """
    norms = largest = np.full(len(network.blocks), np.nan)
    number = len(network.train.labels)
    size = number if training.batch_size == "full" else min(training.batch_size, number)
    if training.blocks and training.exponent:
        norms = gradient_norms(network, seed, size, training.blocks.batches)
    if training.blocks and training.block_rates:
        largest = curvatures(network, seed, size, training.blocks)
    return BlockMeasurement(norms, largest)


def gradient_norms(network: Network, seed: int, size: int, batches: int) -> Floats:
    """Return the root mean square [B] of ||g_b|| over the first batches of training."""
    squares = np.zeros(len(network.blocks))
    for step in range(batches):
        batch = network.train.take(batch_indices(seed, step, size, len(network.train.labels)))
        _, gradients = network.gradients(network.start, batch)
        squares += [float(gradients[name].double().square().sum()) for name in network.blocks]
    return np.sqrt(squares / batches)


def curvatures(network: Network, seed: int, size: int, blocks: Blocks) -> Floats:
    """Return the largest eigenvalue [B] of each block's Hessian on the first batch, at least 0.

    The seed is of the batch, which has `size` samples, and of starting vectors.
    """
    batch = network.train.take(batch_indices(seed, 0, size, len(network.train.labels)))
    _, gradients = network.gradients(network.start, batch)
    iterate = partial(
        largest_eigenvalue, least=blocks.least, tolerance=blocks.tolerance, most=blocks.products
    )
    found = (
        network.curvature(network.start, batch, gradients, name, seed, iterate)
        for name in network.start
    )
    return np.array([max(eigenvalue, 0.0) for eigenvalue, _ in found])


def block_coordinates(training: Training, network: Network, found: BlockMeasurement) -> Coordinates:
    """Return the scales s_b = exp(q) or exp(-q) of blocks, and their rates.

    Rates are eta_b/eta = median(h)/max(h_b, median(h)/limit). The median of curvatures is that of
    all tensors but biases, some of which the loss does not see.
    """
    scales, rates = {}, {}
    if training.exponent:
        sizes = np.array([block.size for block in network.blocks.values()])
        density = found.norms / np.sqrt(sizes)
        above = density > np.median(density)
        scales = {
            name: exp(training.exponent if is_above else -training.exponent)
            for name, is_above in zip(network.blocks, above, strict=True)
        }
    if training.blocks and training.block_rates:
        is_bias = np.array([block.kind == "bias" for block in network.blocks.values()])
        median = np.median(found.curvatures[~is_bias])
        followed = np.maximum(found.curvatures, median / training.blocks.limit)
        rates = dict(zip(network.blocks, (median / followed).tolist(), strict=True))
    return Coordinates(scales, rates)
