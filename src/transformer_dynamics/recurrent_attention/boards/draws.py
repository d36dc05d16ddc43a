"""What the draws of puzzles of all sizes have in common."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob, Givens, Split


class Puzzles(NamedTuple):
    """Puzzles with one solution each."""

    solutions: NDArray[np.uint8]
    """Digits 1..n [puzzles, S]."""
    given: NDArray[np.bool_]
    """Which cells are given [puzzles, S]."""


def random_of(job: BoardJob, split: Split | None = None) -> np.random.Generator:
    """Where the draws come from: those of a split do not depend on how large the others are.

    Args:
        job: has the seed.
        split: what is drawn; without one, which grids or puzzles each part has.
    """
    return generator(job.seed, f"boards {split.name}" if split else "boards")


def numbers_of_givens(
    random: np.random.Generator, puzzles: int, givens: Givens
) -> NDArray[np.int64]:
    """Numbers of givens in random order, each of the range as often as any other, up to one.

    Args:
        random: where they are drawn from.
        puzzles: how many.
        givens: the range.

    Returns:
        Numbers [puzzles].
    """
    each = random.permutation(np.arange(givens.least, givens.most + 1))
    return random.permutation(np.resize(each, puzzles))


def relabelled(
    random: np.random.Generator, solutions: NDArray[np.uint8], digits: int
) -> NDArray[np.uint8]:
    """Grids whose digits are renamed, each by a permutation of its own.

    Args:
        random: where the permutations are drawn from.
        solutions: digits 1..n [grids, S].
        digits: n.
    """
    names = np.tile(np.arange(1, digits + 1, dtype=np.uint8), (len(solutions), 1))
    return np.take_along_axis(random.permuted(names, axis=1), solutions - 1, axis=1)
