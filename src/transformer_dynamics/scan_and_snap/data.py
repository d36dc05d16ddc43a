"""Draw the training sequences of some seeds of an experiment."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap.settings import SampleJob
from transformer_dynamics.scan_and_snap.streams import Sequences
from transformer_dynamics.scan_and_snap.streams import sample as sample_one


def sample(
    job: SampleJob, seeds: list[int], sources: Sequence[Path]
) -> dict[str, NDArray[np.uint16]]:
    """Draw all batches.

    Args:
        job: mixtures and sampling.
        seeds: of the runs.
        sources: none.

    Returns:
        [seed, steps, batch, ...] arrays `<mixture>/<field of Sequences>`.
    """
    arrays = {}
    for name, mixture in job.mixtures.items():
        drawn = [sample_one(mixture, job.sampling, seed) for seed in seeds]
        for field in Sequences._fields:
            arrays[f"{name}/{field}"] = np.stack([getattr(sequences, field) for sequences in drawn])
    return arrays
