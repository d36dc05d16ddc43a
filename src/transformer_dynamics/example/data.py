"""Draw the data of some seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.example.settings import SampleJob


def sample(job: SampleJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Draw inputs x ~ N(0, diag(variances)) and targets y = x_1 + ... + x_D + noise.

    Return `inputs` [seed, N, D] and `targets` [seed, N].
    """
    spread = np.sqrt(job.variances)
    shape = (job.samples, len(spread))
    inputs = np.stack([generator(seed, "inputs").normal(0, spread, shape) for seed in seeds])
    noise = [generator(seed, "noise").normal(0, job.noise, job.samples) for seed in seeds]
    return {"inputs": inputs, "targets": inputs.sum(axis=-1) + np.stack(noise)}
