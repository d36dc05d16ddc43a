"""Measure a pretrained network with a random head, before and after fine-tuning."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity.build import build
from transformer_dynamics.gradient_heterogeneity.measured_settings import (
    PRETRAINED,
    TUNED,
    MeasuredJob,
)
from transformer_dynamics.gradient_heterogeneity.measuring import Progress

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

TUNING = "tuning"
"""Name of the training."""


def train(
    job: MeasuredJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Measure a network of one seed.

    Args:
        job: which, and what.
        seeds: the one seed, of head, samples, batches and starts of iterations.
        data: what `job.reads` names.
        checkpoint: keeps what is under way.

    Returns:
        Of the states `pretrained` and, with fine-tuning, `tuned`, see `Progress.arrays`; the
        training is called `tuning`.

    Raises:
        InputError: if the device is not there, or there are too few samples.
    """
    (seed,) = seeds
    device(job.device)
    net = build(job.net, seed, data, job.device)
    progress = Progress.of(checkpoint)
    progress.measured(PRETRAINED, net, net.start, job.measuring, seed)
    if job.tuning is None:
        return progress.arrays([PRETRAINED], [])
    parameters = progress.trained(TUNING, net, job.tuning, seed)
    progress.measured(TUNED, net, parameters, job.measuring, seed)
    return progress.arrays([PRETRAINED, TUNED], [TUNING])
