"""State of a training between two steps, with all that is recorded of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer_dynamics.gradient_heterogeneity.settings.training import UpdateRule
from transformer_dynamics.gradient_heterogeneity.theory.head import head_norms
from transformer_dynamics.gradient_heterogeneity.training import optimisers
from transformer_dynamics.gradient_heterogeneity.training.coordinates import Coordinates
from transformer_dynamics.gradient_heterogeneity.training.networks import Block, Network
from transformer_dynamics.gradient_heterogeneity.training.optimisers import (
    Tensors,
    update_copies,
)
from transformer_dynamics.gradient_heterogeneity.training.record import (
    DIRECTION_SETS,
    DIRECTIONS,
    POINT_COLUMNS,
)

Arrays = dict[str, NDArray[Any]]


@dataclass
class State:
    """Training between two steps; the next one changes it, its tensors in place."""

    parameters: Tensors
    """Parameters theta' by name."""
    moments: optimisers.Moments
    losses: list[float] = field(default_factory=list)
    """[step] Loss of the batch before the step, with dropout (nats); NaN once it was not finite."""
    norms: list[float] = field(default_factory=list)
    """[step] Norm ||g'|| before clipping."""
    looks: list[list[float]] = field(default_factory=list)
    """[point, `POINT_COLUMNS`] Numbers of the network at a point."""
    directions: list[list[float]] = field(default_factory=list)
    """[point, `DIRECTION_SETS` x `DIRECTIONS`] Cosines of the step before a point; NaN before the
    first."""

    @property
    def step(self) -> int:
        """Number of steps that are done."""
        return len(self.losses)

    @property
    def is_lost(self) -> bool:
        """True if a loss was not finite, from which no step leads back."""
        return bool(self.losses) and not isfinite(self.losses[-1])

    def lose_step(self, is_point: bool) -> None:
        """Record a step of a training that is lost."""
        self.losses.append(nan)
        self.norms.append(nan)
        if is_point:
            self.lose_direction()

    def lose_direction(self) -> None:
        """Record a direction that is not known."""
        self.directions.append([nan] * len(DIRECTION_SETS) * len(DIRECTIONS))

    def record_direction(
        self, rule: UpdateRule, network: Network, coordinates: Coordinates, gradients: Tensors
    ) -> None:
        """Record the direction of the next step, at a rate of 1, by gradients g' after clipping."""
        still = {name: torch.zeros_like(tensor) for name, tensor in self.parameters.items()}
        ratios = {name: coordinates.rates.get(name, 1.0) for name in still}
        moved, _ = update_copies(rule, still, gradients, self.moments, ratios)
        self.directions.append(step_directions(moved, gradients, network.blocks))

    @torch.no_grad()
    def record_point(self, network: Network, coordinates: Coordinates, judged: Any) -> None:
        """Record the numbers `POINT_COLUMNS` on the slice of training samples, `judged`."""
        parameters = coordinates.scale(self.parameters)
        loss, accuracy = network.evaluate(parameters, judged)
        weight, bias = network.head_names
        norms = head_norms(parameters[weight])
        numbers = (parameters[bias].mean(), norms.common, norms.centred, norms.total)
        self.looks.append([loss, accuracy, *map(float, numbers)])

    def curves(self) -> Arrays:
        """Return the numbers by step and by point."""
        return {
            "losses": np.array(self.losses, dtype=np.float64),
            "norms": np.array(self.norms, dtype=np.float64),
            "looks": np.array(self.looks, dtype=np.float64).reshape(-1, len(POINT_COLUMNS)),
            "directions": np.array(self.directions, dtype=np.float64).reshape(
                -1, len(DIRECTION_SETS), len(DIRECTIONS)
            ),
        }


def initial_state(rule: UpdateRule, network: Network, coordinates: Coordinates) -> State:
    """Return the state before the first step."""
    start = coordinates.unscale(network.start)
    parameters = {name: tensor.clone() for name, tensor in start.items()}
    return State(parameters, optimisers.initial_moments(rule, parameters))


def save_state(state: State, network: Network) -> Arrays:
    """Return everything that training needs to go on, as arrays by name."""
    found = state.curves()
    parts = {
        "parameters": state.parameters,
        "first": state.moments.first,
        "second": state.moments.second,
        "statistics": network.statistics,
    }
    for part, tensors in parts.items():
        for name, tensor in tensors.items():
            found[f"{part}/{name}"] = tensor.detach().cpu().numpy()
    return found


def restore_state(network: Network, saved: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that `save_state` saved, and set running statistics in the network."""
    parts: dict[str, Tensors] = {"parameters": {}, "first": {}, "second": {}, "statistics": {}}
    device = next(iter(network.start.values())).device
    for key, values in saved.items():
        part, _, name = key.partition("/")
        if part in parts:
            parts[part][name] = torch.from_numpy(np.array(values)).to(device)
    for name, tensor in network.statistics.items():
        tensor.copy_(parts["statistics"][name])
    step = len(saved["losses"])
    return State(
        parts["parameters"],
        optimisers.Moments(step, parts["first"], parts["second"]),
        saved["losses"].tolist(),
        saved["norms"].tolist(),
        saved["looks"].tolist(),
        saved["directions"].reshape(len(saved["looks"]), -1).tolist(),
    )


def step_directions(
    step: Mapping[str, Tensor], gradients: Mapping[str, Tensor], blocks: Mapping[str, Block]
) -> list[float]:
    """Return cosines of a step u with signs, over all tensors and over those but embeddings.

        cos(u, sign u) = ||u||_1/(||u|| sqrt n_u),   cos(u, -sign g) = -u.sign(g)/(||u|| sqrt n_g)

    with n the number of entries that are not zero. Both are 1 for SignSGD; of SGD, both are
    sqrt(kappa) with kappa counting such entries. The cosines [`DIRECTION_SETS` x `DIRECTIONS`] are
    NaN for a step of length zero.
    """
    found = []
    for chosen in DIRECTION_SETS:
        names = [n for n in step if chosen == "all" or blocks[n].kind != "embedding"]
        length = sum(float(step[n].double().square().sum()) for n in names) ** 0.5
        for signs in ({n: step[n].sign() for n in names}, {n: -gradients[n].sign() for n in names}):
            product = sum(float((step[n].double() * signs[n]).sum()) for n in names)
            number = sum(int(torch.count_nonzero(signs[n])) for n in names)
            found.append(product / (length * number**0.5) if length * number else nan)
    return found
