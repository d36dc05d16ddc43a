"""Choice of the samples of a step: epoch after epoch, each in an order of its own."""

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator


def batch_indices(seed: int, step: int, size: int, samples: int) -> NDArray[np.int64]:
    """Return the places [m] of the samples of one step, m = `size`.

    The orders of all epochs, of N = `samples` each, follow one another without a gap, so that every
    batch has m samples. They depend on the seed alone: runs of a seed that differ in nothing but
    the optimiser share all batches. `step` is the number of steps before this one.
    """
    places = np.arange(step * size, (step + 1) * size)
    epochs = places // samples
    orders = {
        epoch: generator(seed, f"order of epoch {epoch}").permutation(samples)
        for epoch in np.unique(epochs)
    }
    found = [orders[epoch][place % samples] for epoch, place in zip(epochs, places, strict=True)]
    return np.array(found, dtype=np.int64)


def slice_indices(number: int, samples: int) -> NDArray[np.int64]:
    """Return the places [min(n, N)], ascending, of the samples on which training is judged.

    n is `number`, N `samples`. They are the same for all seeds.
    """
    return np.sort(generator(0, "slice of the training set").permutation(samples)[:number])
