"""Features of the test samples of a set before anything is trained, phi_0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.encoders.data.features import untrained_features
from transformer_dynamics.encoders.data.tokens import read_sources
from transformer_dynamics.encoders.settings import FeatureJob


def sample(job: FeatureJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Compute the features of the published test samples of a set, which all seeds have.

    Files of the encoder stand before those of the texts. `test_features` are [n, h], float32, in
    the order of the texts. Raises an `InputError` if a file cannot be read, tokens do not suit the
    encoder or the device is not there.
    """
    encoder, splits = read_sources(job, sources)
    return untrained_features(job, encoder, {"test": splits.test})
