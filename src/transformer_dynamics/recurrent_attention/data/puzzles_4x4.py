"""4x4 puzzles: all of them are known, so they are drawn from a list.

A mask of givens leaves one solution of a grid exactly if no other grid differs from it on blanks
only. Which of the 65,536 masks do so is computed for a grid at once.
"""

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.recurrent_attention.data.grids import all_grids
from transformer_dynamics.recurrent_attention.data.puzzles import (
    Puzzles,
    draw_numbers_of_givens,
    random_generator,
)
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob, Split

CELLS = 16
"""Number S of cells."""
MASKS = (np.arange(1 << CELLS)[:, None] >> np.arange(CELLS) & 1).astype(bool)
"""All masks [65536, S]: in mask m, cell c is given if m has bit c."""


def sample_4x4(job: BoardJob) -> dict[str, Puzzles]:
    """Draw the puzzles of every split; return them by name of the split.

    Training, validation and test share no grid. Each number of givens is as frequent as any other;
    among those with this number, all puzzles of the split's grids are equally likely, as if a grid
    and a mask were drawn until the solution is unique. No puzzle comes twice before all with its
    number of givens have come once.
    """
    grids = random_generator(job).permutation(all_grids("4x4"))
    unique = unique_masks(grids)
    parts = job.parts(len(grids))
    ends = np.cumsum([*parts.values()])
    if len(np.unique(grids, axis=0)) != ends[-1]:
        raise AssertionError("training, validation and test share a grid, or lack one")
    of_part = {part: slice(end - parts[part], end) for part, end in zip(parts, ends, strict=True)}
    return {
        split.name: _draw_puzzles(
            random_generator(job, split),
            grids[of_part[split.part]],
            unique[of_part[split.part]],
            split,
        )
        for split in job.splits
    }


def _draw_puzzles(
    random: np.random.Generator, grids: NDArray[np.uint8], unique: NDArray[np.bool_], split: Split
) -> Puzzles:
    numbers = draw_numbers_of_givens(random, split.puzzles, split.givens)
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
    """Return whether mask m of `MASKS` leaves grid g as the only solution [grids, 65536].

    The argument must have all solved grids [grids, S].
    """
    return np.stack([_masks_of_grid(grid, grids) for grid in grids])


def _masks_of_grid(grid: NDArray[np.uint8], grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the row of `unique_masks` [65536] of one of all grids [grids, S]."""
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
