"""Measure a small Post-LN or Pre-LN transformer from random weights to fine-tuning.

Both of a pair have the same random weights, see the same masked words in the same order, and get
the same random head for labelled texts.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity import tiny
from transformer_dynamics.gradient_heterogeneity.measured_settings import (
    INITIAL,
    MASKED,
    ON,
    PRETRAINED,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.measuring import Progress

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train(
    job: PairJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Train and measure a transformer of one seed.

    Args:
        job: which, and what.
        seeds: the one seed, of all that is drawn.
        data: words and texts as the program `data.words` returns them.
        checkpoint: keeps what is under way.

    Returns:
        Of the states `initial` and, with training, `masked`, `pretrained` and the name of every
        fine-tuning, see `Progress.arrays`. Trainings are called `on_masked` and `on_texts_` and the
        name of the fine-tuning.

    Raises:
        InputError: if the device is not there, or there are too few samples.
    """
    (seed,), (words,) = seeds, data
    device(job.device)
    progress = Progress.of(checkpoint)
    # Curvatures cost the most; what is said of them is said of fine-tuned networks.
    before = job.measuring.model_copy(update={"curved": 0})
    net = tiny.masked_net(job.net, job.masking, seed, words, job.device)
    progress.measured(INITIAL, net, net.start, before, seed)
    if job.masked is None:
        return progress.arrays([INITIAL], [])
    trained = progress.trained(f"{ON}masked", net, job.masked, seed)
    progress.measured(MASKED, net, trained, before, seed)
    net = tiny.text_net(job.net, seed, words, trained)
    progress.measured(PRETRAINED, net, net.start, before, seed)
    for name, tuning in job.tunings.items():
        parameters = progress.trained(f"{ON}texts_{name}", net, tuning, seed)
        progress.measured(name, net, parameters, job.measuring, seed)
    return progress.arrays(
        [INITIAL, MASKED, PRETRAINED, *job.tunings],
        [f"{ON}masked", *(f"{ON}texts_{name}" for name in job.tunings)],
    )
