"""Measurement of gradients and curvatures of all tensors, and the stages of such a program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.settings.measuring import Measuring
from transformer_dynamics.gradient_heterogeneity.settings.training import Training
from transformer_dynamics.gradient_heterogeneity.theory.curvature import (
    Iteration,
    largest_eigenvalue,
    top_eigenvalue,
)
from transformer_dynamics.gradient_heterogeneity.training.coordinates import Coordinates
from transformer_dynamics.gradient_heterogeneity.training.loop import train_network
from transformer_dynamics.gradient_heterogeneity.training.networks import Block, Iterate, Network
from transformer_dynamics.gradient_heterogeneity.training.one_step import try_steps
from transformer_dynamics.gradient_heterogeneity.training.optimisers import Tensors
from transformer_dynamics.gradient_heterogeneity.training.record import Measurement, TriedSteps
from transformer_dynamics.gradient_heterogeneity.training.state import save_state

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]
CURVES = ("losses", "norms", "looks")
"""Arrays of a training that are returned beside measurements."""


def measured_batches(network: Network, measuring: Measuring, seed: int) -> Iterator[Any]:
    """Yield batches of training samples; they depend on the seed alone."""
    number = len(network.train.labels)
    order = generator(seed, "measured batches").permutation(number)
    for index in range(measuring.batches):
        places = np.arange(index * measuring.size, (index + 1) * measuring.size) % number
        yield network.train.take(order[places])


def measure_state(
    network: Network, parameters: Mapping[str, Tensor], measuring: Measuring, seed: int
) -> Measurement:
    """Measure a state, without dropout; the seed is of batches and of starts of iterations."""
    rows: list[list[tuple[float, float, int]]] = []
    found, products, tried = [], [], []
    for index, batch in enumerate(measured_batches(network, measuring, seed)):
        _, gradients = network.gradients(parameters, batch)
        rows.append([_gradient_sizes(gradients[name]) for name in network.blocks])
        if index < measuring.curved:
            tops = _curvatures(network, parameters, batch, gradients, measuring, seed)
            h = [eigenvalue for eigenvalue, _ in tops]
            found.append(h)
            products.append([used for _, used in tops])
            tried.append(try_steps(network, parameters, batch, gradients, np.array(h), measuring))
    norms, absolute, nonzero = np.moveaxis(np.array(rows, dtype=np.float64), -1, 0)
    shape = (measuring.curved, len(network.blocks))
    return Measurement(
        norms,
        absolute,
        nonzero.astype(np.int64),
        np.array(found, dtype=np.float64).reshape(shape),
        np.array(products, dtype=np.int64).reshape(shape),
        *(np.array([getattr(each, name) for each in tried]) for name in TriedSteps._fields),
    )


def _gradient_sizes(gradient: Tensor) -> tuple[float, float, int]:
    """Return ||g||, ||g||_1 and the number of entries that are not zero."""
    g = gradient.double()
    return (
        float(torch.linalg.vector_norm(g)),
        float(g.abs().sum()),
        int(torch.count_nonzero(g)),
    )


def _curvatures(
    network: Network,
    parameters: Mapping[str, Tensor],
    batch: Any,
    gradients: Tensors,
    measuring: Measuring,
    seed: int,
) -> list[tuple[float, int]]:
    """Return each tensor's eigenvalue, and the number of products that it took."""
    tolerance, most = measuring.tolerance, measuring.products
    iterate: Iterate = partial(
        largest_eigenvalue, least=measuring.least, tolerance=tolerance, most=most
    )
    if measuring.iteration == "released":
        iterate = partial(top_eigenvalue, iteration=Iteration(tolerance, most))
    found = []
    for name, block in tqdm(network.blocks.items(), unit="tensor", mininterval=10):
        # Training was lost where a gradient is not finite.
        if block.kind == "bias" or not torch.isfinite(gradients[name]).all():
            found.append((np.nan, 0))
        else:
            found.append(network.curvature(parameters, batch, gradients, name, seed, iterate))
    return found


def block_arrays(blocks: Mapping[str, Block]) -> Arrays:
    """Return `tensors`, `layers`, `kinds` and `sizes` [B] of a network's tensors."""
    columns = zip(*blocks.values(), strict=True)
    layers, kinds, sizes = (np.array(column) for column in columns)
    return {"tensors": np.array(list(blocks)), "layers": layers, "kinds": kinds, "sizes": sizes}


@dataclass
class Progress:
    """Stages of a program that are done, so that it goes on where it was interrupted."""

    checkpoint: "Checkpoint"
    done: Arrays = field(default_factory=dict)
    """Arrays by name of the stage, a slash and the name of the array."""

    @classmethod
    def read(cls, checkpoint: "Checkpoint") -> "Progress":
        """Return the stages that were kept."""
        return cls(checkpoint, checkpoint.read() or {})

    def stage(self, name: str) -> Arrays:
        """Return the arrays of a stage, none if it was not begun."""
        return {
            key.partition("/")[2]: values for key, values in self.done.items() if _is_of(key, name)
        }

    def _with(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
        return self.done | {f"{name}/{key}": values for key, values in arrays.items()}

    def measure(
        self,
        name: str,
        network: Network,
        parameters: Mapping[str, Tensor],
        measuring: Measuring,
        seed: int,
    ) -> None:
        """Measure the state `name`, unless that was done before; see `measure_state`."""
        if not self.stage(name):
            click.echo(f"measuring: {name}", err=True)
            found = measure_state(network, parameters, measuring, seed)
            self.done = self._with(name, found._asdict() | block_arrays(network.blocks))

    def train(self, name: str, network: Network, training: Training, seed: int) -> Tensors:
        """Train to the end, perhaps from where it was interrupted, and return the parameters.

        No state has the name of the training. The seed is of the order of samples and of dropout.
        """
        state = train_network(
            training,
            seed,
            network,
            Coordinates(),
            self.checkpoint,
            self.stage(name),
            lambda arrays: self._with(name, arrays),
            name,
        )
        # Averages of an optimiser are of no more use.
        left = {
            key: values
            for key, values in save_state(state, network).items()
            if not key.startswith(("first/", "second/"))
        }
        self.done = {key: values for key, values in self.done.items() if not _is_of(key, name)}
        self.done = self._with(name, left)
        return state.parameters

    def arrays(self, states: list[str], trainings: list[str]) -> Arrays:
        """Return all measurements and the curves of trainings, the seed first.

        They are `states` [S], the fields of `Measurement` and the arrays of `block_arrays`,
        [S, ...]; of every training `<name>_losses`, `<name>_norms` and `<name>_looks`. Batches that
        were curved at other states alone have NaN and no products.
        """
        found: Arrays = {"states": np.array(states)}
        stages = [self.stage(name) for name in states]
        for key in stages[0]:
            found[key] = _stack([stage[key] for stage in stages])
        for name in trainings:
            stage = self.stage(name)
            found |= {f"{name}_{key}": stage[key] for key in CURVES}
        return {key: values[None] for key, values in found.items()}


def _stack(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack arrays; those with fewer rows than others get NaN, or 0 of whole numbers."""
    longest = max(parts, key=len)
    found = np.zeros((len(parts), *longest.shape), np.result_type(*parts))
    if found.dtype.kind == "f":
        found.fill(np.nan)
    for row, part in zip(found, parts, strict=True):
        if len(part):
            row[: len(part)] = part
    return found


def _is_of(key: str, stage: str) -> bool:
    return key.partition("/")[0] == stage
