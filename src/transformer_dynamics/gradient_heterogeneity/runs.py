"""Train one network of one seed; an interrupted run goes on where it was."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity import training as steps
from transformer_dynamics.gradient_heterogeneity.batches import points
from transformer_dynamics.gradient_heterogeneity.build import build
from transformer_dynamics.gradient_heterogeneity.coordinates import Measured, coordinates, measured
from transformer_dynamics.gradient_heterogeneity.nets import Net
from transformer_dynamics.gradient_heterogeneity.run_settings import RunJob, Training

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]


def train(
    job: RunJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> Arrays:
    """Train a run.

    Args:
        job: what is trained, and how.
        seeds: the one seed, of the head, of the samples and of their order, which all runs share.
        data: what `job.net.reads` names.
        checkpoint: keeps what is under way.

    Returns:
        The seed first. By step `losses` and `norms` of gradients before clipping. By point, with
        the steps before it in `points`, `looks` and `directions` as `training` describes them.
        Of the parameters in the end, without dropout: `test_predicted`, `test_labels`,
        `validation_predicted` and `validation_labels` [n]. By block `sizes`, `block_norms` and
        `curvatures` before training, NaN where they are not measured, `scales` s_b and `rates`
        eta_b/eta. `classes` is C.

    Raises:
        InputError: if the device is not there, or there are too few samples.
    """
    (seed,) = seeds
    device(job.device)
    training = job.training
    net = build(job.net, seed, data, job.device)
    if training.frozen:
        net = net.without("embedding")
    before = measured(training, net, seed)
    own = coordinates(training, net, before)
    kept = checkpoint.read()
    if kept is None:
        state = steps.begun(training.optimizer, net, own)
    else:
        state = steps.resumed(net, kept)
        click.echo(f"going on after step {state.step}", err=True)
    with tqdm(
        total=training.steps, initial=state.step, unit="step", mininterval=10, smoothing=0.1
    ) as bar:
        for _ in steps.train(training, seed, net, own, state):
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-25:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(steps.kept(state, net))
    found = _arrays(training, net, before, own, state)
    return {name: np.asarray(values)[None] for name, values in found.items()}


def _arrays(
    training: Training, net: Net, before: Measured, own: steps.Coordinates, state: steps.State
) -> Arrays:
    """What `train` returns, of its one seed."""
    _, bias = steps.head_of(net.blocks)
    arrays = state.curves() | {
        "classes": np.array(net.blocks[bias].size),
        "points": points(training.steps, training.points),
        "sizes": np.array([block.size for block in net.blocks.values()]),
        "block_norms": before.norms,
        "curvatures": before.curvatures,
        "scales": np.array([own.scales.get(name, 1.0) for name in net.blocks]),
        "rates": np.array([own.rates.get(name, 1.0) for name in net.blocks]),
    }
    for name, part in (("validation", net.validation), ("test", net.test)):
        arrays[f"{name}_predicted"] = steps.predicted(net, own.outward(state.parameters), part)
        arrays[f"{name}_labels"] = part.labels
    return arrays
