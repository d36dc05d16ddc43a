"""FT ratios of one seed for heads with the direction and the norm of the random head or the probe.

What an FT ratio near 1 is due to: the length of the head, or that it is the probe of these samples.
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
from transformer_dynamics.lp_ft.head_start import started
from transformer_dynamics.lp_ft.kernel_settings import HeadControlJob
from transformer_dynamics.lp_ft.products import Step, step
from transformer_dynamics.lp_ft.run_settings import Direction
from transformer_dynamics.lp_ft.starts import start

HEADS: tuple[Direction, ...] = ("random", "probe")
"""Where a direction, or a norm, is from."""
SAMPLES = ("all", "subset")
"""Over which of the probe's samples the step sums; it is looked at on those of the subset."""
COLUMNS = (
    "ft_ratio", "head_norm", "p_term", "f_term", "logit_change", "feature_change", "error",
)  # fmt: skip
"""What is computed, see `summary`."""


def train(
    job: HeadControlJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> dict[str, NDArray[np.float64]]:
    """FT ratios of a seed; nothing is trained but the probe.

    The P term is in float64, as it is a small difference at the probe's optimum; products of the
    encoder are in float32, which changes the F term by 1e-5 of it.

    Args:
        job: samples and the probe.
        seeds: the one seed.
        data: tokens and features of the set, then the encoder.
        checkpoint: not used, as it takes a minute or two.

    Returns:
        The seed first: `steps` [direction, norm, samples, column] in the order of `HEADS`, `HEADS`,
        `SAMPLES` and `COLUMNS`; `strength`, C_reg.

    Raises:
        InputError: if the device is not there or a probe fails.
    """
    (seed,) = seeds
    place = device(job.device)
    found = start(job, seed, data)
    model = build(Pretrained.of(data[2])).to(place)
    known = found.sets.train
    everything = np.arange(len(known.labels))
    steps = np.empty((len(HEADS), len(HEADS), len(SAMPLES), len(COLUMNS)))
    for i, j, k in product(*map(range, steps.shape[:-1])):
        direction, norm = HEADS[i], HEADS[j]
        head = started(found.random, found.probe, direction, norm, 1.0)
        chosen = found.chosen if SAMPLES[k] == "subset" else everything
        texts = known.tokens.take(chosen)
        features = torch.from_numpy(known.features[chosen]).double()
        at = np.searchsorted(chosen, found.chosen)
        steps[i, j, k] = summary(head, step(model, texts, features, head, at, job.batch_size))
        click.echo(f"{direction} direction, {norm} norm, {SAMPLES[k]} samples", err=True)
    return {"steps": steps[None], "strength": np.array([found.strength])}


def summary(head: Head, found: Step) -> list[float]:
    """`COLUMNS` of one step.

    Args:
        head: V and b.
        found: the step.

    Returns:
        FT ratio; ||V||; means over x, for eta = 1, of the lengths of the P term, of the F term, of
        their sum, and of the change of features; mean ||delta_i|| over what is summed over.
    """
    p, f = found.terms
    changes = (p, f, p + f, found.features, found.errors)
    lengths = (float(torch.linalg.vector_norm(change, dim=1).mean()) for change in changes)
    return [found.terms.ratio, head.norm, *lengths]
