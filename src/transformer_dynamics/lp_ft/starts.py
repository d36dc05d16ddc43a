"""Where fine-tuning of one seed starts: both heads, the samples of its kernel, and delta."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import Head, drawn_head
from transformer_dynamics.encoders.probe import select
from transformer_dynamics.lp_ft.kernel_settings import StartJob
from transformer_dynamics.lp_ft.sets import Part, Sets, sets


class Start(NamedTuple):
    """The start of one seed, in float64."""

    sets: Sets
    """All samples."""
    random: Head
    """As FT and LoRA start."""
    probe: Head
    """As LP-FT and LP-LoRA start."""
    strength: float
    """C_reg of the probe."""
    chosen: NDArray[np.int64]
    """[N] ascending places among the training samples."""


def start(job: StartJob, seed: int, data: Sequence[Mapping[str, NDArray[Any]]]) -> Start:
    """The start of a seed.

    Args:
        job: samples and the probe.
        seed: of all draws.
        data: tokens and features of the set, as `encoders.data` returns them.

    Raises:
        InputError: if there are too few samples or the probe fails.
    """
    found = sets(job.texts, [], seed, data[:2])
    train, validation = ((part.features, part.labels) for part in (found.train, found.validation))
    probe = select(train, validation, found.classes, job.strengths)
    drawn = drawn_head(found.classes, found.train.features.shape[1], seed)
    return Start(
        found,
        Head(drawn.weight.double(), drawn.bias.double()),
        Head(torch.from_numpy(probe.weight), torch.from_numpy(probe.bias)),
        probe.strength,
        few(found.train, job.samples, seed, "samples of the kernel"),
    )


def few(part: Part, number: int, seed: int, scope: str) -> NDArray[np.int64]:
    """Ascending places of some samples, or of all if there are no more.

    Args:
        part: the samples.
        number: how many.
        seed: of the draw.
        scope: which draw.
    """
    order = generator(seed, scope).permutation(len(part.labels))
    return np.sort(order[:number])
