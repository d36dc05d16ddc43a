"""Training of a network, step by step, and what is looked at on the way.

A block may be trained in other coordinates, theta_b = s_b theta'_b. Then theta' has the gradient
s_b g_b, and its averages, its clipping and its steps are those of theta'. In theta, SGD and SGD-m
so have rates eta s_b^2, and signs rates eta s_b. Or a block has a rate eta_b of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity import optimizers
from transformer_dynamics.gradient_heterogeneity.batches import batch_of, points, slice_of
from transformer_dynamics.gradient_heterogeneity.nets import Block, Net
from transformer_dynamics.gradient_heterogeneity.optimizer_settings import Optimizer
from transformer_dynamics.gradient_heterogeneity.optimizers import Tensors, advance, move
from transformer_dynamics.gradient_heterogeneity.run_settings import Training
from transformer_dynamics.gradient_heterogeneity.schedules import share
from transformer_dynamics.gradient_heterogeneity.theory.head import head_norms

Arrays = dict[str, NDArray[Any]]
Factors = Mapping[str, float]
"""s_b or eta_b/eta by name of a block; 1 for blocks that are not named."""
LOOKED_AT = ("endpoint", "accuracy", "mean_bias", "common", "centred", "total")
"""Cross-entropy (nats) and accuracy of the slice without dropout; mean b; norms of V."""
SETS = ("all", "without_embeddings")
"""Tensors of which the direction of a step is looked at."""
DIRECTIONS = ("own_sign", "gradient_sign")
"""Cosine of a step with its own signs, and with those of the gradient."""


@dataclass(frozen=True)
class Coordinates:
    """What blocks have of their own."""

    scales: Factors = field(default_factory=dict)
    """s_b."""
    rates: Factors = field(default_factory=dict)
    """eta_b/eta."""

    def outward(self, parameters: Mapping[str, Tensor]) -> Tensors:
        """Theta of theta', and s_b g_b of g_b."""
        if not self.scales:
            return dict(parameters)
        return {name: tensor * self.scales.get(name, 1.0) for name, tensor in parameters.items()}

    def inward(self, parameters: Mapping[str, Tensor]) -> Tensors:
        """Of theta, theta'."""
        if not self.scales:
            return dict(parameters)
        return {name: tensor / self.scales.get(name, 1.0) for name, tensor in parameters.items()}


@dataclass
class State:
    """Training between two steps; the next one changes it, its tensors in place."""

    parameters: Tensors
    """theta'."""
    moments: optimizers.State
    """Of the optimiser."""
    losses: list[float] = field(default_factory=list)
    """[step] of the batch before the step, with dropout, in nats; NaN once it was not finite."""
    norms: list[float] = field(default_factory=list)
    """[step] ||g'|| before clipping."""
    looks: list[list[float]] = field(default_factory=list)
    """[point] `LOOKED_AT`."""
    directions: list[list[float]] = field(default_factory=list)
    """[point, `SETS` x `DIRECTIONS`] of the step before it; NaN before the first."""

    @property
    def step(self) -> int:
        """Steps that are done."""
        return len(self.losses)

    @property
    def is_lost(self) -> bool:
        """Whether a loss was not finite, from which no step leads back."""
        return bool(self.losses) and not isfinite(self.losses[-1])

    def curves(self) -> Arrays:
        """Numbers by step and by point."""
        return {
            "losses": np.array(self.losses, dtype=np.float64),
            "norms": np.array(self.norms, dtype=np.float64),
            "looks": np.array(self.looks, dtype=np.float64).reshape(-1, len(LOOKED_AT)),
            "directions": np.array(self.directions, dtype=np.float64).reshape(
                -1, len(SETS), len(DIRECTIONS)
            ),
        }


def begun(optimizer: Optimizer, net: Net, coordinates: Coordinates) -> State:
    """The state before the first step."""
    parameters = {name: own.clone() for name, own in coordinates.inward(net.start).items()}
    return State(parameters, optimizers.begin(optimizer, parameters))


def kept(state: State, net: Net) -> Arrays:
    """Everything that is needed to go on."""
    found = state.curves()
    parts = {
        "parameters": state.parameters,
        "first": state.moments.first,
        "second": state.moments.second,
        "statistics": net.statistics,
    }
    for part, tensors in parts.items():
        for name, tensor in tensors.items():
            found[f"{part}/{name}"] = tensor.detach().cpu().numpy()
    return found


def resumed(net: Net, found: Mapping[str, NDArray[Any]]) -> State:
    """The state that `kept` kept; running statistics are set in the network."""
    parts: dict[str, Tensors] = {"parameters": {}, "first": {}, "second": {}, "statistics": {}}
    device = next(iter(net.start.values())).device
    for key, values in found.items():
        part, _, name = key.partition("/")
        if part in parts:
            parts[part][name] = torch.from_numpy(np.array(values)).to(device)
    for name, tensor in net.statistics.items():
        tensor.copy_(parts["statistics"][name])
    step = len(found["losses"])
    return State(
        parts["parameters"],
        optimizers.State(step, parts["first"], parts["second"]),
        found["losses"].tolist(),
        found["norms"].tolist(),
        found["looks"].tolist(),
        found["directions"].reshape(len(found["looks"]), -1).tolist(),
    )


def train(
    training: Training, seed: int, net: Net, coordinates: Coordinates, state: State
) -> Iterator[State]:
    """Yield the state after every step.

    Batches and dropout follow from the seed and the number of the step alone, so that all runs of a
    seed share them, and a run that goes on from a kept state gives the same bits.

    Args:
        training: optimiser, rates and batches.
        seed: of the run.
        net: what is trained; its running statistics change.
        coordinates: what blocks have of their own.
        state: where to begin or to go on; it is changed.
    """
    looked_at = points(training.steps, training.points).tolist()
    judged = net.train.take(slice_of(training.slice, len(net.train.labels)))
    if not state.looks:
        state.looks.append(_look(net, coordinates.outward(state.parameters), judged))
        state.directions.append([nan] * len(SETS) * len(DIRECTIONS))
    while state.step < training.steps:
        is_point = state.step + 1 in looked_at
        _step(training, seed, net, coordinates, state, is_point)
        if is_point:
            state.looks.append(_look(net, coordinates.outward(state.parameters), judged))
        yield state


def _step(
    training: Training, seed: int, net: Net, coordinates: Coordinates, state: State, is_point: bool
) -> None:
    """One step, or a note that training is lost."""
    unknown = [nan] * len(SETS) * len(DIRECTIONS)
    if state.is_lost:
        state.losses.append(nan)
        state.norms.append(nan)
        state.directions.extend([unknown] if is_point else [])
        return
    size = len(net.train.labels) if training.batch_size == "full" else training.batch_size
    batch = net.train.take(batch_of(seed, state.step, size, len(net.train.labels)))
    device = next(iter(state.parameters.values())).device
    with torch.random.fork_rng(devices=[device.index or 0] if device.type == "cuda" else []):
        torch.manual_seed(int(generator(seed, f"dropout of step {state.step}").integers(2**62)))
        loss, gradients = net.gradients(coordinates.outward(state.parameters), batch, training=True)
    gradients, norm = optimizers.clipped(
        coordinates.outward(gradients), inf if training.clip is None else training.clip
    )
    eta = training.rate * share(training.schedule, state.step, training.steps, training.warm_up)
    rates = {name: eta * coordinates.rates.get(name, 1.0) for name in state.parameters}
    if is_point:
        still = {name: torch.zeros_like(tensor) for name, tensor in state.parameters.items()}
        ratios = {name: coordinates.rates.get(name, 1.0) for name in still}
        moved, _ = advance(training.optimizer, still, gradients, state.moments, ratios)
        state.directions.append(directions(moved, gradients, net.blocks))
    state.moments = move(training.optimizer, state.parameters, gradients, state.moments, rates)
    state.losses.append(loss)
    state.norms.append(float(norm))


@torch.no_grad()
def _look(net: Net, parameters: Tensors, judged: Any) -> list[float]:
    """`LOOKED_AT`."""
    loss, accuracy = net.evaluate(parameters, judged)
    weight, bias = head_of(net.blocks)
    norms = head_norms(parameters[weight])
    return [
        loss,
        accuracy,
        float(parameters[bias].mean()),
        float(norms.common),
        float(norms.centred),
        float(norms.total),
    ]


def head_of(blocks: Mapping[str, Block]) -> tuple[str, str]:
    """Names of the head's V and b.

    Args:
        blocks: of a network; the head is the one tensor of its kind, and the last layer.
    """
    (weight,) = (name for name, block in blocks.items() if block.kind == "head")
    (bias,) = (
        name
        for name, block in blocks.items()
        if block.kind == "bias" and block.layer == blocks[weight].layer
    )
    return weight, bias


def directions(
    step: Mapping[str, Tensor], gradients: Mapping[str, Tensor], blocks: Mapping[str, Block]
) -> list[float]:
    """Cosines of a step u with signs, over all tensors and over those that are no embeddings.

        cos(u, sign u) = ||u||_1/(||u|| sqrt n_u),   cos(u, -sign g) = -u.sign(g)/(||u|| sqrt n_g)

    with n the number of entries that are not zero. Both are 1 for SignSGD; of SGD, both are
    sqrt(kappa) with kappa counting such entries.

    Args:
        step: u by name.
        gradients: g by name.
        blocks: what the tensors are.

    Returns:
        [`SETS` x `DIRECTIONS`], NaN for a step of length zero.
    """
    found = []
    for chosen in SETS:
        names = [n for n in step if chosen == "all" or blocks[n].kind != "embedding"]
        length = sum(float(step[n].double().square().sum()) for n in names) ** 0.5
        for signs in ({n: step[n].sign() for n in names}, {n: -gradients[n].sign() for n in names}):
            product = sum(float((step[n].double() * signs[n]).sum()) for n in names)
            number = sum(int(torch.count_nonzero(signs[n])) for n in names)
            found.append(product / (length * number**0.5) if length * number else nan)
    return found


def predicted(net: Net, parameters: Tensors, samples: Any, size: int = 64) -> NDArray[np.int64]:
    """[n] the most probable class of every sample, without dropout.

    Args:
        net: the network.
        parameters: theta.
        samples: [n].
        size: how many are computed at once.
    """
    found = [np.empty(0, np.int64)]
    with torch.no_grad():
        for first in range(0, len(samples.labels), size):
            places = np.arange(first, min(first + size, len(samples.labels)))
            logits = net.logits(parameters, samples.take(places))
            found.append(logits.argmax(dim=-1).cpu().numpy())
    return np.concatenate(found)
