"""Measure a small Post-LN or Pre-LN transformer from random weights to fine-tuning.

Both of a pair have the same random weights, see the same masked words in the same order, and get
the same random head for labelled texts.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from replication.study.devices import device
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    INITIAL,
    MASKED,
    PRETRAINED,
    TRAINING_PREFIX,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.training import small_transformers
from transformer_dynamics.gradient_heterogeneity.training.measurements import Progress

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint


def train(
    job: PairJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> dict[str, NDArray[Any]]:
    """Train and measure a transformer of one seed on words and texts of `data.vocabulary`.

    The seed is of all that is drawn. Returns the arrays of `Progress.arrays`, of the states
    `initial` and, with training, `masked`, `pretrained` and the name of every fine-tuning.
    Trainings are called `on_masked` and `on_texts_` and the name of the fine-tuning. Raises an
    `InputError` if the device is not there, or there are too few samples.
    """
    (seed,), (words,) = seeds, data
    device(job.device)
    progress = Progress.read(checkpoint)
    # Curvatures cost the most; what is said of them is said of fine-tuned networks.
    before = job.measuring.model_copy(update={"curved": 0})
    network = small_transformers.masked_network(job.net, job.masking, seed, words, job.device)
    progress.measure(INITIAL, network, network.start, before, seed)
    if job.masked is None:
        return progress.arrays([INITIAL], [])
    trainings = [f"{TRAINING_PREFIX}masked"]
    trained = progress.train(trainings[0], network, job.masked, seed)
    progress.measure(MASKED, network, trained, before, seed)
    network = small_transformers.text_network(job.net, seed, words, trained)
    progress.measure(PRETRAINED, network, network.start, before, seed)
    for name, tuning in job.tunings.items():
        trainings.append(f"{TRAINING_PREFIX}texts_{name}")
        parameters = progress.train(trainings[-1], network, tuning, seed)
        progress.measure(name, network, parameters, job.measuring, seed)
    return progress.arrays([INITIAL, MASKED, PRETRAINED, *job.tunings], trainings)
