"""Measure a pretrained network with a random head, before and after fine-tuning."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    PRETRAINED,
    TUNED,
    MeasuredJob,
)
from transformer_dynamics.gradient_heterogeneity.training.build import build_network
from transformer_dynamics.gradient_heterogeneity.training.measurements import Progress

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train(
    job: MeasuredJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Measure a network of one seed, from the arrays that `job.net.reads` names.

    The seed is of head, samples, batches and starts of iterations. Returns the arrays of
    `Progress.arrays`, of the states `pretrained` and, with fine-tuning, `tuned`; the training is
    called `tuning`. Raises an `InputError` if the device is not there, or samples are too few.
    """
    (seed,) = seeds
    device(job.device)
    network = build_network(job.net, seed, data, job.device)
    progress = Progress.read(checkpoint)
    progress.measure(PRETRAINED, network, network.start, job.measuring, seed)
    if job.tuning is None:
        return progress.arrays([PRETRAINED], [])
    parameters = progress.train("tuning", network, job.tuning, seed)
    progress.measure(TUNED, network, parameters, job.measuring, seed)
    return progress.arrays([PRETRAINED, TUNED], ["tuning"])
