"""Two sources of training sequences: the released code's own stream, and independent scopes.

Of a sequence only its class and the count of each token before the query matter (there are no
positions, and the class has one query), so a stream yields those.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.scan_and_snap.settings.training import Mixture, SampleJob, Sampling
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

AT_ONCE = 512
"""Number of sequences whose tokens are found together."""


class Sequences(NamedTuple):
    """All training batches of one run."""

    classes: NDArray[np.uint16]
    """[steps, batch] Class of each sequence."""
    counts: NDArray[np.uint16]
    """[steps, batch, S] Number of times of each token of the class's support; the sum is T - 1."""


def sample(
    job: SampleJob, seeds: list[int], sources: Sequence[Path]
) -> dict[str, NDArray[np.uint16]]:
    """Draw all batches of seeds: [seed, steps, batch, ...] `<mixture>/<field of Sequences>`."""
    arrays = {}
    for name, mixture in job.mixtures.items():
        drawn = [draw_sequences(mixture, job.sampling, seed) for seed in seeds]
        for field in Sequences._fields:
            arrays[f"{name}/{field}"] = np.stack([getattr(sequences, field) for sequences in drawn])
    return arrays


def draw_sequences(mixture: Mixture, sampling: Sampling, seed: int) -> Sequences:
    """Draw all batches of one run.

    Raise InputError if the authors' stream is asked for another mixture than they ran.
    """
    draw = {"authors": _draw_as_authors, "independent": _draw_independent}[sampling.stream]
    return draw(mixture, sampling, seed)


def _draw_as_authors(mixture: Mixture, sampling: Sampling, seed: int) -> Sequences:
    """Draw as the released code does: for each sequence a class, then T - 1 tokens.

    Classes come from Python's generator, tokens from PyTorch's Mersenne Twister after the
    initialisation of two M x M layers. NumPy's legacy generator yields the same words, so this
    needs no PyTorch (a second of start-up) and does not change with its version; a test holds it
    against `torch.multinomial`.
    """
    if not mixture.is_released:
        raise InputError("stream 'authors' is not defined for this mixture; use 'independent'")
    total, length = sampling.steps * sampling.batch_size, sampling.sequence_length - 1
    classes = _choices(seed, mixture.num_classes, total)
    words = np.random.RandomState(seed + 2)
    _words(words, 2 * mixture.vocabulary_size**2)
    cumulative = np.cumsum(_released_probabilities())
    cumulative = (cumulative / cumulative[-1]).astype(np.float64)
    size = len(cumulative)
    counts = np.empty((total, size), np.int64)
    # Some sequences at a time, as what fits into the processor's cache is done in half the time.
    for start in range(0, total, AT_ONCE):
        part = counts[start : start + AT_ONCE]
        tokens = _search(cumulative, _words(words, 2 * len(part) * length))
        cells = tokens.reshape(-1, length) + np.arange(0, part.size, size)[:, None]
        part[:] = np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
    return _batches(classes, counts, sampling)


def _choices(seed: int, number: int, count: int) -> NDArray[np.int64]:
    """Repeat Python's `Random(seed).choice(range(number))` so many times.

    It takes the upper bits of a word of the Mersenne Twister until they are below the number.
    """
    *state, position = random.Random(seed).getstate()[1]
    words = np.random.RandomState()
    words.set_state(("MT19937", np.array(state, np.uint32), position, 0, 0.0))
    found = np.empty(0, np.int64)
    while len(found) < count:
        drawn = _words(words, 2 * count) >> np.uint32(32 - number.bit_length())
        found = np.append(found, drawn[drawn < number].astype(np.int64))
    return found[:count]


def _words(generator: np.random.RandomState, count: int) -> NDArray[np.uint32]:
    return generator.randint(0, 2**32, size=count, dtype=np.uint32)


def _search(cumulative: NDArray[np.float64], words: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Return tokens by PyTorch's U(0, 1) in double precision, faster than `np.searchsorted`.

    The number is the low 53 bits of two words, the first one high. Probabilities are above 1/256,
    so that an interval of that width holds one bound at most, and one comparison decides.
    """
    intervals = 256
    found = np.searchsorted(cumulative, np.arange(intervals) / intervals)
    high = words[::2] & np.uint32(2**21 - 1)
    drawn = high * 2.0**-21 + words[1::2] * 2.0**-53
    tokens: NDArray[np.intp] = found[high >> np.uint32(21 - 8)]
    return tokens + (drawn > cumulative[tokens])


def _released_probabilities() -> NDArray[np.float32]:
    """Return P(l|n) of the released runs in single precision, with `torch.linspace`'s rounding."""
    first, last, index = np.float32(0.1), np.float32(1), np.arange(10, dtype=np.float32)
    step = (last - first) / np.float32(9)
    distinct = np.where(index < 5, first + step * index, last - step * (9 - index))
    weights = np.concatenate([np.ones(10, np.float32), distinct.astype(np.float32)])
    return np.asarray(weights / weights.sum(), dtype=np.float32)


def _draw_independent(mixture: Mixture, sampling: Sampling, seed: int) -> Sequences:
    rng = generator(seed, "data")
    total = sampling.steps * sampling.batch_size
    classes = rng.integers(mixture.num_classes, size=total)
    probabilities = sequence_classes(mixture).probabilities[classes]
    counts = rng.multinomial(sampling.sequence_length - 1, probabilities)
    return _batches(classes, counts, sampling)


def _batches(
    classes: NDArray[np.int64], counts: NDArray[np.integer], sampling: Sampling
) -> Sequences:
    shape = (sampling.steps, sampling.batch_size)
    return Sequences(
        classes=classes.reshape(shape).astype(np.uint16),
        counts=counts.reshape(*shape, -1).astype(np.uint16),
    )
