"""Puzzles that tests draw, and other solvers than the study's."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from transformer_dynamics.recurrent_attention.data import puzzles_4x4 as four
from transformer_dynamics.recurrent_attention.data import puzzles_6x6 as six
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob

SHAPES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
SEVENTEEN = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
HELD_OUT = {
    "4x4": {"valid": 34, "test": 34},
    "6x6": None,
    "9x9": {"valid": 1000, "test": 10_000},
}
RANGES = {"4x4": (7, 10, 4, 5), "6x6": (16, 20, 9, 11), "9x9": (31, 42, 17, 34)}


CLASSES = cache(six.grid_classes)
UNIQUE: dict[bytes, np.ndarray] = {}
"""Masks of 4x4 by grid."""


@contextmanager
def enumerated_once() -> Iterator[None]:
    """Grids of 6x6 and masks of 4x4 are found once, which takes longer than to draw of them."""
    of_grid = four._masks_of_grid

    def unique(grid, grids):
        key = grid.tobytes()
        if key not in UNIQUE:
            UNIQUE[key] = of_grid(grid, grids)
        return UNIQUE[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(six, "grid_classes", CLASSES)
        patch.setattr(four, "_masks_of_grid", unique)
        yield


def brute_force_grids():
    """All 4x4 grids: every two bands of two rows, those kept that break no rule."""
    bands = [
        (upper, lower)
        for upper, lower in product(permutations((1, 2, 3, 4)), repeat=2)
        if len({*upper[:2], *lower[:2]}) == len({*upper[2:], *lower[2:]}) == 4
    ]
    return np.array(
        [
            sum(above + below, ())
            for above, below in product(bands, repeat=2)
            if all(len({*column}) == 4 for column in zip(*above, *below, strict=True))
        ]
    )


ALL_FOUR = brute_force_grids()


def exact_cover(puzzle):
    """Solved grids of a puzzle by Knuth's algorithm X: (cell, digit) covers four conditions."""
    size = int(len(puzzle) ** 0.5)
    height, width = SHAPES[size]
    choices = {}
    for row, column, digit in product(range(size), range(size), range(1, size + 1)):
        block = row // height, column // width
        choices[row * size + column, digit] = [
            ("cell", row, column),
            ("row", row, digit),
            ("column", column, digit),
            ("block", block, digit),
        ]
    open_conditions = {condition: set() for covered in choices.values() for condition in covered}
    for choice, covered in choices.items():
        for condition in covered:
            open_conditions[condition].add(choice)
    chosen = [(cell, int(digit)) for cell, digit in enumerate(puzzle) if digit]
    for choice in chosen:
        if any(condition not in open_conditions for condition in choices[choice]):
            return
        cover(open_conditions, choices, choice)
    for found in cover_the_rest(open_conditions, choices, chosen):
        yield [digit for _, digit in sorted(found)]


def cover(open_conditions, choices, choice):
    removed = []
    for condition in choices[choice]:
        for other in open_conditions[condition]:
            for elsewhere in choices[other]:
                if elsewhere != condition:
                    open_conditions[elsewhere].discard(other)
        removed.append((condition, open_conditions.pop(condition)))
    return removed


def uncover(open_conditions, choices, removed):
    for condition, others in reversed(removed):
        open_conditions[condition] = others
        for other in others:
            for elsewhere in choices[other]:
                if elsewhere != condition:
                    open_conditions[elsewhere].add(other)


def cover_the_rest(open_conditions, choices, chosen):
    if not open_conditions:
        yield list(chosen)
        return
    tightest = min(open_conditions, key=lambda condition: len(open_conditions[condition]))
    for choice in sorted(open_conditions[tightest]):
        removed = cover(open_conditions, choices, choice)
        yield from cover_the_rest(open_conditions, choices, [*chosen, choice])
        uncover(open_conditions, choices, removed)


def of_four(puzzle):
    """The 4x4 grids that agree with a puzzle."""
    puzzle = np.asarray(puzzle)
    return ALL_FOUR[((puzzle == ALL_FOUR) | (puzzle == 0)).all(axis=1)].tolist()


def breaks_rules(grid):
    size = int(len(grid) ** 0.5)
    height, width = SHAPES[size]
    square = np.reshape(grid, (size, size))
    blocks = square.reshape(size // height, height, size // width, width).swapaxes(1, 2)
    units = [*square, *square.T, *blocks.reshape(size, size)]
    return any(sorted(unit) != list(range(1, size + 1)) for unit in units)


def job_of(size, train=60, others=24, **changes):
    least, most, fewer, few = RANGES[size]
    fields = {
        "size": size,
        "train": train,
        "valid": others,
        "test": others,
        "in_distribution": {"least": least, "most": most},
        "out_of_distribution": {"least": fewer, "most": few},
        "held_out": HELD_OUT[size],
    }
    return BoardJob.parse(fields | changes, "job")


def moved(puzzle, random):
    """The puzzle with rows, columns, bands and stacks in another order, perhaps transposed."""
    square = np.reshape(puzzle, (9, 9))
    for _ in range(2):
        order = [3 * band + row for band in random.permutation(3) for row in random.permutation(3)]
        square = square[order].T
    return (square.T if random.integers(2) else square).reshape(-1)


def written(path, puzzles):
    """Write a list as it is published; its digest."""
    lines = ["A heading, con?gurations", *("".join(map(str, puzzle)) for puzzle in puzzles)]
    path.write_text("\n".join(lines) + "\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def transformed(puzzle, count):
    random = np.random.default_rng(0)
    return [moved([int(digit) for digit in puzzle], random) for _ in range(count)]


def grids_of(arrays, part):
    names = [name for name in arrays if name.startswith(part) and name.endswith("_solutions")]
    return np.concatenate([arrays[name] for name in names])
