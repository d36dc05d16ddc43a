"""Features of all texts of a set before anything is trained, phi_0."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.encoders.data.encoder import Encoder
from transformer_dynamics.encoders.data.tokens import of_splits, read_sources, tokenised
from transformer_dynamics.encoders.model import frozen_features
from transformer_dynamics.encoders.settings import FeatureJob
from transformer_dynamics.encoders.texts import Texts


def sample(job: FeatureJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Compute the features of all texts of a set, from files of the encoder and then of the set.

    The arrays are `train_features`, `test_features` and, if there is such a split,
    `validation_features` [n, h], float32, in the order of the texts. They depend on no seed. Raises
    an `InputError` if a file cannot be read, or tokens do not suit the encoder.
    """
    encoder, splits = read_sources(job, sources)
    return untrained_features(job, encoder, of_splits(splits))


def untrained_features(
    job: FeatureJob, encoder: Encoder, parts: Mapping[str, Texts]
) -> dict[str, NDArray[Any]]:
    """Compute features of parts of a set on the job's device, with the encoder's dropout off.

    The arrays are `<name>_features` [n, h] of each part, float32, in the order of the texts. Raises
    an `InputError` if tokens do not suit the encoder, or the device is not there.
    """
    model = encoder.model.to(device(job.device))
    found = {}
    for name, part in parts.items():
        click.echo(f"{job.texts}: features of {part.size} texts, {name}", err=True)
        tokens = tokenised(job, encoder, part)
        found[f"{name}_features"] = frozen_features(model, tokens).cpu().numpy()
    return found
