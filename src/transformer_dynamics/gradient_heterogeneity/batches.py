"""Which samples a step sees: epoch after epoch, each in an order of its own."""

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator


def batch_of(seed: int, step: int, size: int, samples: int) -> NDArray[np.int64]:
    """[m] places of the samples of one step.

    The orders of all epochs follow one another without a gap, so that every batch has m samples.
    They depend on the seed alone: runs of a seed that differ in nothing but the optimiser share all
    batches.

    Args:
        seed: of the run.
        step: steps before it.
        size: m.
        samples: N >= 1 in an epoch.
    """
    places = np.arange(step * size, (step + 1) * size)
    epochs = places // samples
    orders = {epoch: _order(seed, int(epoch), samples) for epoch in np.unique(epochs)}
    found = [orders[epoch][place % samples] for epoch, place in zip(epochs, places, strict=True)]
    return np.array(found, dtype=np.int64)


def _order(seed: int, epoch: int, samples: int) -> NDArray[np.int64]:
    return generator(seed, f"order of epoch {epoch}").permutation(samples)


def slice_of(number: int, samples: int) -> NDArray[np.int64]:
    """[min(n, N)] ascending places of the samples on which the end of training is judged.

    They are the same for all seeds.

    Args:
        number: n.
        samples: N.
    """
    return np.sort(generator(0, "slice of the training set").permutation(samples)[:number])


def points(steps: int, number: int) -> NDArray[np.int64]:
    """[number + 1] steps before each point: 0, and evenly spaced ones up to the last."""
    return np.unique(np.linspace(0, steps, number + 1).round().astype(np.int64))
