"""4x4 puzzles: all of them are known, so they are drawn from a list.

A mask of givens leaves one solution of a grid exactly if no other grid differs from it on blanks
only. Which of the 65,536 masks do so is computed for a grid at once.
"""

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.recurrent_attention.boards.draws import (
    Puzzles,
    numbers_of_givens,
    random_of,
)
from transformer_dynamics.recurrent_attention.boards.grids import all_grids
from transformer_dynamics.recurrent_attention.boards.settings import BoardJob, Split

CELLS = 16
"""S, the number of cells."""
MASKS = (np.arange(1 << CELLS)[:, None] >> np.arange(CELLS) & 1).astype(bool)
"""All masks [65536, S]: in mask m, cell c is given if m has bit c."""


def sample_four(job: BoardJob) -> dict[str, Puzzles]:
    """Draw the puzzles of every split.

    Training, validation and test share no grid. Each number of givens is as frequent as any other;
    among those with this number, all puzzles of the split's grids are equally likely, as if a grid
    and a mask were drawn until the solution is unique. No puzzle comes twice before all with its
    number of givens have come once.

    Args:
        job: how many, with how many givens.
    """
    grids = random_of(job).permutation(all_grids("4x4"))
    unique = unique_masks(grids)
    parts = job.parts(len(grids))
    ends = np.cumsum([*parts.values()])
    if len(np.unique(grids, axis=0)) != ends[-1]:
        raise AssertionError("training, validation and test share a grid, or lack one")
    of_part = {part: slice(end - parts[part], end) for part, end in zip(parts, ends, strict=True)}
    return {
        split.name: _draw(
            random_of(job, split), grids[of_part[split.part]], unique[of_part[split.part]], split
        )
        for split in job.splits
    }


def _draw(
    random: np.random.Generator, grids: NDArray[np.uint8], unique: NDArray[np.bool_], split: Split
) -> Puzzles:
    numbers = numbers_of_givens(random, split.puzzles, split.givens)
    chosen = np.empty((split.puzzles, 2), dtype=np.int64)
    for number in np.unique(numbers):
        pool = np.argwhere(unique & (MASKS.sum(axis=1) == number))
        places = np.flatnonzero(numbers == number)
        rounds = -(-len(places) // len(pool))
        order = np.concatenate([random.permutation(len(pool)) for _ in range(rounds)])
        chosen[places] = pool[order[: len(places)]]
    grid, mask = chosen.T
    return Puzzles(grids[grid], MASKS[mask])


def unique_masks(grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which masks leave one solution of which grid.

    Args:
        grids: all solved grids [grids, S].

    Returns:
        Whether mask m of `MASKS` leaves grid g alone [grids, 65536].
    """
    return np.stack([_unique(grid, grids) for grid in grids])


def _unique(grid: NDArray[np.uint8], grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Masks [65536] that leave one solution, a grid of all grids [grids, S]."""
    differs = (grids != grid) @ (1 << np.arange(CELLS))
    # By blanks as bits: whether another grid differs there. If it does, it differs in more blanks,
    # too, which are added cell by cell.
    ambiguous = np.zeros(1 << CELLS, dtype=bool)
    ambiguous[differs[differs > 0]] = True
    for cell in range(CELLS):
        pairs = ambiguous.reshape(-1, 2, 1 << cell)
        pairs[:, 1] |= pairs[:, 0]
    # The blanks are the complement of the givens, which reverses the order.
    return ~ambiguous[::-1]
