"""Train the seeds of a condition; an interrupted run goes on where it was."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from transformer_dynamics.recurrent_attention.train_settings import TrainJob
from transformer_dynamics.recurrent_attention.training import AVERAGE, MOMENTS, begun, resumed
from transformer_dynamics.recurrent_attention.training import train as updates

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train(
    job: TrainJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Train all seeds at once.

    Args:
        job: the condition.
        seeds: of the runs.
        data: the boards.
        checkpoint: keeps what is under way.

    Returns:
        Parameters by name, the seed first, averaged along training if the job says so; `losses`
        [seed, updates / `loss_window`], means in nats.
    """
    (boards,), every = data, job.training.loss_window
    kept = checkpoint.read()
    state = begun(job, seeds) if kept is None else resumed(job, seeds, kept)
    done = len(state.losses)
    if done:
        click.echo(f"going on after update {done}", err=True)
    with tqdm(total=job.updates, initial=done, unit="update", mininterval=10, smoothing=0.1) as bar:
        for _ in updates(job, seeds, boards, state):
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-every:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
    arrays = state.arrays()
    # In memory as that of one seed alone is: sums depend on it in their last digit.
    losses = np.ascontiguousarray(arrays.pop("losses").T)
    whole = losses[:, : losses.shape[1] // every * every].reshape(len(seeds), -1, every)
    parameters = {
        name: arrays.get(f"{AVERAGE}{name}", value)
        for name, value in arrays.items()
        if not name.startswith((AVERAGE, MOMENTS))
    }
    return {**parameters, "losses": whole.mean(axis=-1)}
