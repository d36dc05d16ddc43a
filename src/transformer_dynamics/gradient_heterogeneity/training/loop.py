"""The training loop: step by step, with all that is recorded and kept.

A block may be trained in other coordinates, theta_b = s_b theta'_b. Then theta' has the gradient
s_b g_b, and its averages, its clipping and its steps are those of theta'. In theta, SGD and SGD-m
so have rates eta s_b^2, and signs rates eta s_b. Or a block has a rate eta_b of its own.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import torch
from tqdm import tqdm

from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.data.batches import batch_indices, slice_indices
from transformer_dynamics.gradient_heterogeneity.settings.training import Training
from transformer_dynamics.gradient_heterogeneity.training.coordinates import Coordinates
from transformer_dynamics.gradient_heterogeneity.training.networks import Network
from transformer_dynamics.gradient_heterogeneity.training.optimisers import (
    clip_gradients,
    update_parameters,
)
from transformer_dynamics.gradient_heterogeneity.training.record import rate_share, recorded_steps
from transformer_dynamics.gradient_heterogeneity.training.state import (
    Arrays,
    State,
    initial_state,
    restore_state,
    save_state,
)

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train_steps(
    training: Training, seed: int, network: Network, coordinates: Coordinates, state: State
) -> Iterator[State]:
    """Yield the state after every step; it is changed, and so are the network's running statistics.

    Batches and dropout follow from the seed and the number of the step alone, so that all runs of a
    seed share them, and a run that goes on from a saved state gives the same bits.
    """
    samples = len(network.train.labels)
    size = samples if training.batch_size == "full" else training.batch_size
    points = recorded_steps(training.steps, training.points).tolist()
    judged = network.train.take(slice_indices(training.slice, samples))
    if not state.looks:
        state.record_point(network, coordinates, judged)
        state.lose_direction()
    while state.step < training.steps:
        is_point = state.step + 1 in points
        if state.is_lost:
            state.lose_step(is_point)
        else:
            batch = network.train.take(batch_indices(seed, state.step, size, samples))
            parameters = coordinates.scale(state.parameters)
            with _dropout(seed, state):
                loss, gradients = network.gradients(parameters, batch, training=True)
            gradients, norm = clip_gradients(
                coordinates.scale(gradients), inf if training.clip is None else training.clip
            )
            share = rate_share(training.schedule, state.step, training.steps, training.warm_up)
            eta = training.rate * share
            rates = {name: eta * coordinates.rates.get(name, 1.0) for name in state.parameters}
            if is_point:
                state.record_direction(training.update_rule, network, coordinates, gradients)
            state.moments = update_parameters(
                training.update_rule, state.parameters, gradients, state.moments, rates
            )
            state.losses.append(loss)
            state.norms.append(float(norm))
        if is_point:
            state.record_point(network, coordinates, judged)
        yield state


@contextmanager
def _dropout(seed: int, state: State) -> Iterator[None]:
    """Draw dropout of a step from its own seed, and leave PyTorch's generator as it was."""
    device = next(iter(state.parameters.values())).device
    with torch.random.fork_rng(devices=[device.index or 0] if device.type == "cuda" else []):
        torch.manual_seed(int(generator(seed, f"dropout of step {state.step}").integers(2**62)))
        yield


def train_network(
    training: Training,
    seed: int,
    network: Network,
    coordinates: Coordinates,
    checkpoint: "Checkpoint",
    saved: Arrays | None,
    prepare: Callable[[Arrays], Arrays] = lambda arrays: arrays,
    name: str | None = None,
) -> State:
    """Train to the end, and return the state after the last step.

    Training begins anew, or goes on from `saved`, arrays of `save_state`; `prepare` makes of these
    what the checkpoint keeps. `name` stands beside the progress.
    """
    if saved:
        state = restore_state(network, saved)
    else:
        state = initial_state(training.update_rule, network, coordinates)
    with tqdm(
        total=training.steps, initial=state.step, desc=name, unit="step", mininterval=10
    ) as bar:
        for _ in train_steps(training, seed, network, coordinates, state):
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-25:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(prepare(save_state(state, network)))
    return state
