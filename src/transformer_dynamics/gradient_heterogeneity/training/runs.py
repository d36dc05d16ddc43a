"""Train one network of one seed; an interrupted run goes on where it was."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity.settings.training import RunJob
from transformer_dynamics.gradient_heterogeneity.training.build import build_network
from transformer_dynamics.gradient_heterogeneity.training.coordinates import (
    block_coordinates,
    measure_blocks,
)
from transformer_dynamics.gradient_heterogeneity.training.loop import train_network
from transformer_dynamics.gradient_heterogeneity.training.record import recorded_steps

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train(
    job: RunJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Train a run of one seed, on the arrays that `job.net.reads` names.

    The seed is of the head, of the samples and of their order, which all runs share; it comes first
    in all arrays. By step these are `losses` and `norms` of gradients before clipping. By point
    they are `looks` and `directions` as `State` describes them, with the steps before it in
    `points`. Of the parameters in the end, without dropout, they are `test_predicted`,
    `test_labels`, `validation_predicted` and `validation_labels` [n]. By block they are `sizes`,
    `block_norms` and `curvatures` before training, NaN where they are not measured, `scales` s_b
    and `rates` eta_b/eta. `classes` is C. Raises an `InputError` if the device is not there, or
    there are too few samples.
    """
    (seed,) = seeds
    device(job.device)
    training = job.training
    network = build_network(job.net, seed, data, job.device)
    if training.frozen:
        network = network.freeze("embedding")
    before = measure_blocks(training, network, seed)
    own = block_coordinates(training, network, before)
    state = train_network(training, seed, network, own, checkpoint, checkpoint.read())
    _, bias = network.head_names
    arrays = state.curves() | {
        "classes": np.array(network.blocks[bias].size),
        "points": recorded_steps(training.steps, training.points),
        "sizes": np.array([block.size for block in network.blocks.values()]),
        "block_norms": before.norms,
        "curvatures": before.curvatures,
        "scales": np.array([own.scales.get(name, 1.0) for name in network.blocks]),
        "rates": np.array([own.rates.get(name, 1.0) for name in network.blocks]),
    }
    parameters = own.scale(state.parameters)
    for name, part in (("validation", network.validation), ("test", network.test)):
        arrays[f"{name}_predicted"] = network.predict(parameters, part)
        arrays[f"{name}_labels"] = part.labels
    return {name: np.asarray(values)[None] for name, values in arrays.items()}
