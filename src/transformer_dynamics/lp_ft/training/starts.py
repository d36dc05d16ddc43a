"""Heads that fine-tuning starts from, and the start of one seed with the samples of its kernel."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from transformer_dynamics.encoders.head import Head, drawn_head
from transformer_dynamics.encoders.probe import Probe, select, select_by_folds
from transformer_dynamics.lp_ft.data.samples import SeedSamples, draw_places, draw_samples
from transformer_dynamics.lp_ft.settings.runs import Direction, Norm, Penalty
from transformer_dynamics.lp_ft.settings.start import StartJob


class Start(NamedTuple):
    """The start of one seed, in float64."""

    samples: SeedSamples
    random: Head
    """Head from which FT and LoRA start."""
    probe: Head
    """Head from which LP-FT and LP-LoRA start."""
    strength: float
    """Strength C_reg of the probe."""
    chosen: NDArray[np.int64]
    """[N] Ascending places among training samples of those of the kernel or the subset."""


def draw_start(job: StartJob, seed: int, data: Sequence[Mapping[str, NDArray[Any]]]) -> Start:
    """Draw the start of a seed.

    The data are tokens and test features of the set, and features of the seed's samples. Raises an
    `InputError` if there are too few samples or the probe fails.
    """
    samples = draw_samples(job.texts, [], seed, data[:3])
    probe = select_probe(samples, job)
    width = samples.train.features.shape[1]
    random = drawn_head(samples.classes, width, seed, job.head_deviation)
    return Start(
        samples,
        Head(random.weight.double(), random.bias.double()),
        Head(torch.from_numpy(probe.weight), torch.from_numpy(probe.bias)),
        probe.strength,
        draw_places(samples.train, job.samples, seed, "samples of the kernel"),
    )


def select_probe(samples: SeedSamples, choice: Penalty) -> Probe:
    """Fit probes to training samples, and return the best one.

    Validation samples choose it, or else folds of the training samples. Raises an `InputError` if
    one does not reach its optimum.
    """
    train, validation = (
        (part.features, part.labels) for part in (samples.train, samples.validation)
    )
    if choice.folds is not None:
        return select_by_folds(
            *train, samples.classes, choice.strengths, choice.tolerance, choice.folds
        )
    return select(train, validation, samples.classes, choice.strengths, choice.tolerance)


def probe_head(probe: Probe) -> Head:
    """Return a probe as a head in float32."""
    return Head(torch.from_numpy(probe.weight).float(), torch.from_numpy(probe.bias).float())


def starting_head(
    random: Head, probe: Head | None, direction: Direction, norm: Norm, factor: float
) -> Head:
    """Return one of two heads, scaled as a whole: logits are multiplied and no class changes.

    The head `direction` gives V/||V|| and b/||V||, the head `norm` gives ||V||; "own" is that of
    the head that gives the direction. `factor` multiplies V and b in the end. The probe may be
    missing if neither is its; else a `KeyError` is raised. The head has the type of the given one.
    """
    heads = {"random": random} | ({} if probe is None else {"probe": probe})
    head = heads[direction]
    length = heads[direction if norm == "own" else norm].norm
    scale = factor * length / head.norm
    return head if scale == 1 else head.scaled(scale)
