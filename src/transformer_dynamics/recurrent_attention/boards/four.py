"""4x4 puzzles: all of them are known, so they are drawn from a list.

A mask of givens leaves one solution of a grid exactly if no other grid differs from it on blanks
only. Which of the 65,536 masks do so is computed for a grid at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.errors import InputError
from replication.generators import generator
from transformer_dynamics.recurrent_attention.boards.grids import all_grids
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob, Givens

GRIDS = {"train": 220, "valid": 34, "test": 34}
"""How many of the 288 grids are for training, validation and test."""
CELLS = 16
"""S, the number of cells."""


class Puzzles(NamedTuple):
    """Puzzles with one solution each."""

    solutions: NDArray[np.uint8]
    """Digits 1..n [puzzles, S]."""
    given: NDArray[np.bool_]
    """Which cells are given [puzzles, S]."""


def sample_four(job: BoardJob) -> dict[str, Puzzles]:
    """Draw the puzzles of every split.

    The grids of training, validation and test are disjoint. Each number of givens is as frequent
    as any other, and given it, all puzzles of the split's grids are equally likely. No puzzle
    comes twice before all with its number of givens have come once.

    Args:
        job: how many, with how many givens.

    Raises:
        InputError: if there is no puzzle with so few givens.
    """
    random = generator(job.seed, "boards")
    grids = random.permutation(all_grids("4x4"))
    unique = unique_masks(grids)
    bounds = np.cumsum([*GRIDS.values()])
    parts = np.split(np.arange(len(grids)), bounds[:-1])
    if len({grid.tobytes() for grid in grids}) < bounds[-1]:
        raise AssertionError("splits share a grid")
    rows = dict(zip(GRIDS, parts, strict=True))
    return {
        split: _draw(random, grids[rows[part]], unique[rows[part]], count, givens, key)
        for split, part, count, givens, key in job.splits
    }


def _draw(
    random: np.random.Generator,
    grids: NDArray[np.uint8],
    unique: NDArray[np.bool_],
    count: int,
    givens: Givens,
    key: str,
) -> Puzzles:
    numbers = number_of_givens(random, count, givens)
    chosen = np.empty((count, 2), dtype=np.int64)
    for number in np.unique(numbers):
        pool = np.argwhere(unique & (_GIVEN.sum(axis=1) == number))
        if not len(pool):
            raise InputError(
                f"{key} > least: no 4x4 puzzle with {number} givens has one solution; raise it"
            )
        here = np.flatnonzero(numbers == number)
        rounds = -(-len(here) // len(pool))
        order = np.concatenate([random.permutation(len(pool)) for _ in range(rounds)])
        chosen[here] = pool[order[: len(here)]]
    grid, mask = chosen.T
    return Puzzles(grids[grid], _GIVEN[mask])


def number_of_givens(random: np.random.Generator, count: int, givens: Givens) -> NDArray[np.int64]:
    """Numbers of givens in random order, each of the range as often as any other, up to one.

    Args:
        random: where they are drawn from.
        count: of puzzles.
        givens: the range.

    Returns:
        Numbers [count].
    """
    each = random.permutation(np.arange(givens.least, givens.most + 1))
    return random.permutation(np.resize(each, count))


_GIVEN = (np.arange(1 << CELLS)[:, None] >> np.arange(CELLS) & 1).astype(bool)
"""Masks [65536, S]: cell c of mask m is given if m has bit c."""


def unique_masks(grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which masks leave one solution of which grid.

    Args:
        grids: all solved grids [grids, S].

    Returns:
        Whether mask m of grid g has just that solution [grids, 65536]; bit c of m says that cell
        c is given.
    """
    return np.stack([_unique(grid, grids) for grid in grids])


def _unique(grid: NDArray[np.uint8], grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Masks [65536] that leave one solution of a grid."""
    differs = (grids != grid) @ (1 << np.arange(CELLS))
    # Whether some other grid differs on blanks only; index: the blanks as bits.
    ambiguous = np.zeros(1 << CELLS, dtype=bool)
    ambiguous[differs[differs > 0]] = True
    for cell in range(CELLS):
        pairs = ambiguous.reshape(-1, 2, 1 << cell)
        pairs[:, 1] |= pairs[:, 0]
    # The blanks are the complement of the mask, which reverses the order.
    return ~ambiguous[::-1]
