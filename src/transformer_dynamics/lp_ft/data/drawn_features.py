"""Features of the samples that a seed draws of a set before anything is trained, phi_0.

A seed draws some 1,250 of up to 67,349 texts: nothing looks at the features of the others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.encoders.data.encoder import Encoder
from transformer_dynamics.encoders.data.tokens import read_sources, tokenised
from transformer_dynamics.encoders.model import frozen_features
from transformer_dynamics.encoders.samples import samples
from transformer_dynamics.encoders.settings import TextJob
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.lp_ft.settings.samples import DrawnJob


def sample(job: DrawnJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Compute the features of the training and validation samples of a seed.

    Args:
        job: which set, which encoder and how many samples.
        seeds: the one seed.
        sources: files of the encoder, then those of the texts.

    Returns:
        The seed first: `train_features` and `validation_features` [1, n, h], float32, in the order
        in which they are drawn; `seed` and `texts`, the name of the set.

    Raises:
        InputError: if a file cannot be read, tokens do not suit the encoder or there are too few
            samples.
    """
    (seed,) = seeds
    encoder, splits = read_sources(job.whole, sources)
    drawn = samples(splits, job.texts, seed)
    parts = {"train": drawn.train, "validation": drawn.validation}
    found = untrained_features(job.whole, encoder, parts)
    found |= {"seed": np.array(seed), "texts": np.array(job.texts.name)}
    return {name: values[None] for name, values in found.items()}


def untrained_features(
    job: TextJob, encoder: Encoder, parts: Mapping[str, Texts]
) -> dict[str, NDArray[Any]]:
    """Return features [n, h] of parts of a set, by one pass of the encoder on a processor.

    The encoder's dropout is off.

    Args:
        job: which set, for messages, and the length of texts.
        encoder: the encoder with its tokeniser.
        parts: texts by name.

    Returns:
        `<name>_features` of each part.

    Raises:
        InputError: if tokens do not suit the encoder.
    """
    device("cpu")
    found = {}
    for name, texts in parts.items():
        click.echo(f"{job.texts}: features of {texts.size} texts, {name}", err=True)
        tokens = tokenised(job, encoder, texts)
        found[f"{name}_features"] = frozen_features(encoder.model, tokens).numpy()
    return found
