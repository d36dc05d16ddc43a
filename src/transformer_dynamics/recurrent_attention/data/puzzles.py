"""Draws of puzzles that all sizes share."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob, Givens, Split


class Puzzles(NamedTuple):
    """Puzzles with one solution each."""

    solutions: NDArray[np.uint8]
    """Digits 1..n [puzzles, S]."""
    given: NDArray[np.bool_]
    """True where a cell is given [puzzles, S]."""


def random_generator(job: BoardJob, split: Split | None = None) -> np.random.Generator:
    """Return the generator of a split, whose draws do not depend on the sizes of the others.

    Without a split, the generator deals grids or puzzles to the parts.
    """
    return generator(job.seed, f"boards {split.name}" if split else "boards")


def draw_numbers_of_givens(
    random: np.random.Generator, puzzles: int, givens: Givens
) -> NDArray[np.int64]:
    """Return numbers of givens [puzzles] in random order, each as often as any other, up to one."""
    each = random.permutation(np.arange(givens.least, givens.most + 1))
    return random.permutation(np.resize(each, puzzles))


def relabel_digits(
    random: np.random.Generator, solutions: NDArray[np.uint8], digits: int
) -> NDArray[np.uint8]:
    """Rename digits 1..n of each grid by a permutation of its own; return new grids [grids, S]."""
    names = np.tile(np.arange(1, digits + 1, dtype=np.uint8), (len(solutions), 1))
    return np.take_along_axis(random.permuted(names, axis=1), solutions - 1, axis=1)
