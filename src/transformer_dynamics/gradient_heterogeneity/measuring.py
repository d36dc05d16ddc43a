"""Gradient norms of all tensors of a network, and the curvature of each one's Hessian block."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.curvature import (
    Iteration,
    Product,
    Top,
    block_product,
    largest_eigenvalue,
    top_eigenvalue,
)
from transformer_dynamics.gradient_heterogeneity.measured_settings import Measuring
from transformer_dynamics.gradient_heterogeneity.nets import Block, Net
from transformer_dynamics.gradient_heterogeneity.one_step import Steps, steps
from transformer_dynamics.gradient_heterogeneity.optimizers import Tensors
from transformer_dynamics.gradient_heterogeneity.run_settings import Training
from transformer_dynamics.gradient_heterogeneity.training import (
    Coordinates,
    begun,
    kept,
    resumed,
    train,
)

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]
CURVES = ("losses", "norms", "looks")
"""What is kept of training, besides what is measured."""


class Measurement(NamedTuple):
    """One state of a network; B tensors in the order of its blocks."""

    norms: NDArray[np.float64]
    """[batch, B] ||g_b||."""
    absolute: NDArray[np.float64]
    """[batch, B] ||g_b||_1."""
    nonzero: NDArray[np.int64]
    """[batch, B] entries of g_b that are not zero."""
    curvatures: NDArray[np.float64]
    """[curved batch, B] the largest eigenvalue of H_bb; NaN of biases, which are left out, and
    where training was lost, and 0 of tensors without a gradient."""
    products: NDArray[np.int64]
    """[curved batch, B] Hessian-vector products that it took."""
    slopes: NDArray[np.float64]
    """[curved batch, ...] of `Steps`."""
    bends: NDArray[np.float64]
    """[curved batch, ...] of `Steps`."""
    decreases: NDArray[np.float64]
    """[curved batch, ...] of `Steps`."""


def batches(net: Net, measuring: Measuring, seed: int) -> Iterator[Any]:
    """Batches of training samples; they depend on the seed alone.

    Args:
        net: whose.
        measuring: how many, and of which size.
        seed: of the choice.
    """
    number = len(net.train.labels)
    order = generator(seed, "measured batches").permutation(number)
    for index in range(measuring.batches):
        places = np.arange(index * measuring.size, (index + 1) * measuring.size) % number
        yield net.train.take(order[places])


def measure(
    net: Net, parameters: Mapping[str, Tensor], measuring: Measuring, seed: int
) -> Measurement:
    """Measure a state, without dropout.

    Args:
        net: the network.
        parameters: theta.
        measuring: what.
        seed: of batches and of starts of iterations.
    """
    rows: list[list[tuple[float, float, int]]] = []
    found, products, tried = [], [], []
    for index, batch in enumerate(batches(net, measuring, seed)):
        _, gradients = net.gradients(parameters, batch)
        rows.append([_sizes(gradients[name]) for name in net.blocks])
        if index < measuring.curved:
            tops = _curvatures(net, parameters, batch, gradients, measuring, seed)
            h = [eigenvalue for eigenvalue, _ in tops]
            found.append(h)
            products.append([used for _, used in tops])
            tried.append(steps(net, parameters, batch, gradients, np.array(h), measuring))
    norms, absolute, nonzero = np.moveaxis(np.array(rows, dtype=np.float64), -1, 0)
    shape = (measuring.curved, len(net.blocks))
    return Measurement(
        norms,
        absolute,
        nonzero.astype(np.int64),
        np.array(found, dtype=np.float64).reshape(shape),
        np.array(products, dtype=np.int64).reshape(shape),
        *(np.array([getattr(each, name) for each in tried]) for name in Steps._fields),
    )


def _sizes(gradient: Tensor) -> tuple[float, float, int]:
    """||g||, ||g||_1 and the number of entries that are not zero."""
    g = gradient.double()
    return (
        float(torch.linalg.vector_norm(g)),
        float(g.abs().sum()),
        int(torch.count_nonzero(g)),
    )


def _curvatures(
    net: Net,
    parameters: Mapping[str, Tensor],
    batch: Any,
    gradients: Tensors,
    measuring: Measuring,
    seed: int,
) -> list[tuple[float, int]]:
    """[B] eigenvalue and products."""
    found = []
    for name, block in tqdm(net.blocks.items(), unit="tensor", mininterval=10):
        if block.kind == "bias":
            found.append((np.nan, 0))
        elif not torch.isfinite(gradients[name]).all():
            # Training was lost.
            found.append((np.nan, 0))
        elif not gradients[name].any():
            # The loss does not depend on it; autograd has no second derivatives then.
            found.append((0.0, 0))
        else:
            product = block_product(lambda theta: net.loss(theta, batch), parameters, name)
            key = int(generator(seed, f"start of {name}").integers(2**62))
            top = _top(product, parameters[name], torch.Generator().manual_seed(key), measuring)
            found.append((top.eigenvalue, top.products))
    return found


def _top(product: Product, like: Tensor, random: torch.Generator, measuring: Measuring) -> Top:
    tolerance, most = measuring.tolerance, measuring.products
    if measuring.iteration == "released":
        return top_eigenvalue(product, like, random, Iteration(tolerance, most))
    return largest_eigenvalue(product, like, random, measuring.least, tolerance, most)


def described(blocks: Mapping[str, Block]) -> Arrays:
    """What tensors are: `tensors`, `layers`, `kinds` and `sizes` [B]."""
    columns = zip(*blocks.values(), strict=True)
    layers, kinds, sizes = (np.array(column) for column in columns)
    return {"tensors": np.array(list(blocks)), "layers": layers, "kinds": kinds, "sizes": sizes}


@dataclass
class Progress:
    """What a program has done, stage by stage, so that it goes on where it was interrupted."""

    checkpoint: "Checkpoint"
    """Where it is kept."""
    done: Arrays = field(default_factory=dict)
    """Arrays by name of the stage, a stroke and their own name."""

    @classmethod
    def of(cls, checkpoint: "Checkpoint") -> "Progress":
        """What was kept."""
        return cls(checkpoint, checkpoint.read() or {})

    def stage(self, name: str) -> Arrays:
        """What is known of a stage."""
        return {
            key.partition("/")[2]: values for key, values in self.done.items() if _is_of(key, name)
        }

    def _with(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
        return self.done | {f"{name}/{key}": values for key, values in arrays.items()}

    def measured(
        self, name: str, net: Net, parameters: Mapping[str, Tensor], measuring: Measuring, seed: int
    ) -> None:
        """Measure a state, unless it was.

        Args:
            name: of the state.
            net: the network.
            parameters: theta.
            measuring: what.
            seed: see `measure`.
        """
        if not self.stage(name):
            click.echo(f"measuring: {name}", err=True)
            found = measure(net, parameters, measuring, seed)
            self.done = self._with(name, found._asdict() | described(net.blocks))

    def trained(self, name: str, net: Net, training: Training, seed: int) -> Tensors:
        """Parameters after training, which goes on where it was.

        Args:
            name: of the training; no state has it.
            net: the network.
            training: how.
            seed: of the order of samples and of dropout.
        """
        found = self.stage(name)
        state = resumed(net, found) if found else begun(training.optimizer, net, Coordinates())
        with tqdm(
            total=training.steps, initial=state.step, desc=name, unit="step", mininterval=10
        ) as bar:
            for _ in train(training, seed, net, Coordinates(), state):
                bar.update()
                if self.checkpoint.is_due():
                    self.checkpoint.write(self._with(name, kept(state, net)))
        # Averages of an optimiser are of no more use.
        left = {
            key: values
            for key, values in kept(state, net).items()
            if not key.startswith(("first/", "second/"))
        }
        self.done = {key: values for key, values in self.done.items() if not _is_of(key, name)}
        self.done = self._with(name, left)
        return state.parameters

    def arrays(self, states: list[str], trainings: list[str]) -> Arrays:
        """All that was measured and the curves of training, the seed first.

        Args:
            states: names of all states.
            trainings: names of all trainings.

        Returns:
            `states` [S]; the fields of `Measurement`, with NaN and no products for batches that
            were curved at other states alone, and what `described` gives, [S, ...]; of every
            training `<name>_losses`, `<name>_norms` and `<name>_looks`.
        """
        found: Arrays = {"states": np.array(states)}
        stages = [self.stage(name) for name in states]
        for key in stages[0]:
            found[key] = _stacked([stage[key] for stage in stages])
        for name in trainings:
            stage = self.stage(name)
            found |= {f"{name}_{key}": stage[key] for key in CURVES}
        return {key: values[None] for key, values in found.items()}


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One after another; those with fewer rows than others get NaN, or 0 of whole numbers."""
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
