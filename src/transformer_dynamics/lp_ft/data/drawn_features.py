"""Features of the samples that a seed draws of a set before anything is trained, phi_0.

A seed may draw a thousand of many thousand texts: nothing looks at the features of the others.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.encoders.data.features import untrained_features
from transformer_dynamics.encoders.data.tokens import read_sources
from transformer_dynamics.encoders.samples import samples
from transformer_dynamics.lp_ft.settings.samples import DrawnJob


def sample(job: DrawnJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Compute the features of the training and validation samples of a seed, see `drawing_seed`.

    Files of the encoder stand before those of the texts. The arrays are, the seed first,
    `train_features` and `validation_features` [1, n, h], float32, in the order in which samples are
    drawn; `seed` and `texts`, the name of the set. Raises an `InputError` if a file cannot be read,
    tokens do not suit the encoder or there are too few samples.
    """
    (seed,) = seeds
    encoder, splits = read_sources(job.whole, sources)
    drawn = samples(splits, job.texts, seed)
    parts = {"train": drawn.train, "validation": drawn.validation}
    found = untrained_features(job.whole, encoder, parts)
    found |= {"seed": np.array(seed), "texts": np.array(job.texts.name)}
    return {name: values[None] for name, values in found.items()}
