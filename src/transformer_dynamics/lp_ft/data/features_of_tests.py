"""Features of the test samples of a set before anything is trained, phi_0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.encoders.data.features import untrained_features
from transformer_dynamics.encoders.data.tokens import read_sources
from transformer_dynamics.encoders.settings import FeatureJob


def sample(job: FeatureJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Compute the features of the published test samples of a set.

    Args:
        job: which set, which encoder and which device.
        seeds: not used: all seeds have these test samples.
        sources: files of the encoder, then those of the texts.

    Returns:
        `test_features` [n, h], float32, in the order of the texts.

    Raises:
        InputError: if a file cannot be read, or tokens do not suit the encoder or the device is
            not there.
    """
    encoder, splits = read_sources(job, sources)
    return untrained_features(job, encoder, {"test": splits.test})
