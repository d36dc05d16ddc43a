"""6x6 puzzles: all grids are known, the blanks of a puzzle are found by trying."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.data.grids import (
    grid_classes,
    search_solutions,
    sudoku_rules,
)
from transformer_dynamics.recurrent_attention.data.puzzles import (
    Puzzles,
    draw_numbers_of_givens,
    random_generator,
    relabel_digits,
)
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob, Split

ATTEMPTS = 1000
"""Grids and orders that are tried for one puzzle before its number of givens is refused. Of 2,400
random orders, a fifth ended with 9 givens or fewer, and 5 with 8."""


def sample_6x6(job: BoardJob) -> dict[str, Puzzles]:
    """Draw the puzzles of every split; return them by name of the split.

    All puzzles have different solutions, also when digits are renamed: they are drawn from the
    39,168 classes of grids up to renaming. Each number of givens is as frequent as any other. The
    cells of a grid are emptied in random order, except those whose emptying would leave a second
    solution; if too many are left, another grid and order are tried. Raise InputError if there are
    not enough grids, or hardly any puzzle has so few givens.
    """
    grids = random_generator(job).permutation(grid_classes("6x6"))
    needed = sum(split.puzzles for split in job.splits)
    if needed > len(grids):
        raise InputError(
            f"train, valid, test: {needed:,} puzzles need as many grids that differ in more than"
            f" the names of digits, and 6x6 has {len(grids):,}; lower train"
        )
    waiting = deque(grids.tolist())
    # Training comes last, so that its size changes no other split.
    drawn = {
        split.name: _draw_puzzles(random_generator(job, split), waiting, split)
        for split in job.splits[::-1]
    }
    used = np.concatenate([_rename_by_first_row(puzzles.solutions) for puzzles in drawn.values()])
    if len(np.unique(used, axis=0)) != needed:
        raise AssertionError("two puzzles share a grid")
    return drawn


def _rename_by_first_row(solutions: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return grids [grids, S] with digits named by the first row."""
    return solutions[:, :6].argsort(axis=1)[np.arange(len(solutions))[:, None], solutions - 1]


def _draw_puzzles(random: np.random.Generator, waiting: deque[list[int]], split: Split) -> Puzzles:
    numbers = draw_numbers_of_givens(random, split.puzzles, split.givens)
    found = [_find_puzzle(random, waiting, number, split.key) for number in numbers.tolist()]
    solutions, given = (np.array(each) for each in zip(*found, strict=True))
    return Puzzles(relabel_digits(random, solutions.astype(np.uint8), digits=6), given)


def _find_puzzle(
    random: np.random.Generator, waiting: deque[list[int]], number: int, key: str
) -> tuple[list[int], list[bool]]:
    """Take a grid that waits; return it and its given cells, as many as `number`."""
    for _ in range(ATTEMPTS):
        grid = waiting.popleft()
        given = empty_cells(random.permutation(len(grid)).tolist(), grid, number)
        if sum(given) == number:
            return grid, given
        waiting.append(grid)
    raise InputError(
        f"{key} > least: no 6x6 puzzle with {number} givens and one solution was found in"
        f" {ATTEMPTS:,} attempts; raise it"
    )


def empty_cells(order: list[int], grid: list[int], number: int) -> list[bool]:
    """Empty cells in the given order; return whether each cell is still given [S].

    A cell whose emptying leaves a second solution stays. More givens than `number` are left if no
    other cell can be emptied.
    """
    rules = sudoku_rules("6x6")
    free = (1 << rules.digits) - 1
    candidates = [1 << (digit - 1) for digit in grid]
    left = len(order)
    for cell in order:
        if left == number:
            break
        # Until now the solution was unique: a second one has another digit here.
        digit = candidates[cell]
        candidates[cell] = free ^ digit
        is_needed = next(search_solutions(rules, candidates), None) is not None
        candidates[cell] = digit if is_needed else free
        left -= not is_needed
    return [bits != free for bits in candidates]
