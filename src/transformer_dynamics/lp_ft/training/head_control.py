"""FT ratios of one seed for heads with the direction and the norm of the random head or the probe.

They tell two causes of a ratio near 1 apart: the head is long, or is the probe of these samples.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import click
import numpy as np
import torch
from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.lp_ft.settings.runs import Direction
from transformer_dynamics.lp_ft.settings.start import HeadControlJob
from transformer_dynamics.lp_ft.training.linear_step import LinearStep, linear_step
from transformer_dynamics.lp_ft.training.starts import draw_start, starting_head

HEADS: tuple[Direction, ...] = ("random", "probe")
"""Heads that give a direction, or a norm."""
SAMPLES = ("all", "subset")
"""Samples of the probe over which the step sums; it is looked at on those of the subset."""
COLUMNS = (
    "ft_ratio", "head_norm", "p_term", "f_term", "logit_change", "feature_change", "error",
)  # fmt: skip
"""Numbers of a step, see `summarise_step`."""


def train(
    job: HeadControlJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> dict[str, NDArray[np.float64]]:
    """Compute the FT ratios of a seed; nothing is trained but the probe.

    The P term is in float64, as it is a small difference at the probe's optimum; products of the
    encoder are in float32, which changes the F term by 1e-5 of it. The data are tokens and test
    features of the set, features of the seed's samples, and the encoder. The arrays are, the seed
    first, `steps` [direction, norm, samples, column] in the order of `HEADS`, `HEADS`, `SAMPLES`
    and `COLUMNS`, and `strength`, C_reg. No checkpoint is kept, as a seed takes a minute or two.
    Raises an `InputError` if the device is not there or a probe fails.
    """
    (seed,) = seeds
    place = device(job.device)
    start = draw_start(job, seed, data)
    model = build(Pretrained.of(data[3])).to(place)
    train = start.samples.train
    everything = np.arange(len(train.labels))
    steps = np.empty((len(HEADS), len(HEADS), len(SAMPLES), len(COLUMNS)))
    for i, j, k in product(*map(range, steps.shape[:-1])):
        direction, norm = HEADS[i], HEADS[j]
        head = starting_head(start.random, start.probe, direction, norm, 1.0)
        chosen = start.chosen if SAMPLES[k] == "subset" else everything
        texts = train.tokens.take(chosen)
        features = torch.from_numpy(train.features[chosen]).double()
        at = np.searchsorted(chosen, start.chosen)
        steps[i, j, k] = summarise_step(
            head, linear_step(model, texts, features, head, at, job.batch_size)
        )
        click.echo(f"{direction} direction, {norm} norm, {SAMPLES[k]} samples", err=True)
    return {"steps": steps[None], "strength": np.array([start.strength])}


def summarise_step(head: Head, step: LinearStep) -> list[float]:
    """Return the numbers of one step, in the order of `COLUMNS`.

    FT ratio; ||V||; means over x, for eta = 1, of the lengths of the P term, of the F term, of
    their sum, and of the change of features; mean ||delta_i|| over the samples of the sum.
    """
    p, f = step.terms
    changes = (p, f, p + f, step.features, step.errors)
    lengths = (float(torch.linalg.vector_norm(change, dim=1).mean()) for change in changes)
    return [step.terms.ratio, head.norm, *lengths]
