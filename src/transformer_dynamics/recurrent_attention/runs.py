"""Train the seeds of a condition; an interrupted run goes on where it was."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.checkpoint import Checkpoint
from transformer_dynamics.recurrent_attention.train_settings import TrainJob
from transformer_dynamics.recurrent_attention.training import EVERY, begun, resumed
from transformer_dynamics.recurrent_attention.training import train as updates


def train(
    job: TrainJob, seeds: list[int], data: Sequence[Mapping[str, NDArray[Any]]], checkpoint: Checkpoint
) -> dict[str, NDArray[Any]]:
    """Train all seeds at once.

    Args:
        job: the condition.
        seeds: of the runs.
        data: the boards.
        checkpoint: keeps what is under way.

    Returns:
        Parameters by name, the seed first; `losses` [seed, updates / 25], means in nats.
    """
    (boards,) = data
    kept = checkpoint.read()
    state = begun(job, seeds) if kept is None else resumed(job, seeds, kept)
    for state in updates(job, seeds, boards, state):
        if checkpoint.is_due():
            checkpoint.write(state.arrays())
    arrays = state.arrays()
    losses = arrays.pop("losses").T
    whole = losses[:, : losses.shape[1] // EVERY * EVERY].reshape(len(seeds), -1, EVERY)
    parameters = {name: value for name, value in arrays.items() if not name.startswith("adam/")}
    return {**parameters, "losses": whole.mean(axis=-1)}
