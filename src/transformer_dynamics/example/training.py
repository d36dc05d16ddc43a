"""Train on the data of some seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.example.settings import TrainJob


def train(
    job: TrainJob, seeds: list[int], data: Sequence[Mapping[str, NDArray[Any]]], checkpoint: object
) -> dict[str, NDArray[np.float64]]:
    """Follow gradient descent w <- w - eta X^T (X w - y) / N from w = 0, all seeds at once.

    Return `weights` [seed, update, D], the start included.
    """
    (drawn,) = data
    inputs, targets = drawn["inputs"], drawn["targets"][..., None]
    weights = np.zeros((len(seeds), job.updates + 1, inputs.shape[-1]))
    for update in range(job.updates):
        residual = inputs @ weights[:, update, :, None] - targets
        gradient = (inputs.mT @ residual)[..., 0] / job.problem.samples
        weights[:, update + 1] = weights[:, update] - job.learning_rate * gradient
    return {"weights": weights}
