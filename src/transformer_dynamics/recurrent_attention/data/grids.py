"""Sudoku grids: their rules, a solver, and all solved grids of a small size.

A grid is a sequence of cells, row by row, with digits 1..n, or 0 for a blank. The solver works on
candidates: for each cell a number whose bit d - 1 says whether digit d may stand there.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.recurrent_attention.settings.boards import Size

BLOCKS: dict[Size, tuple[int, int]] = {"4x4": (2, 2), "6x6": (2, 3), "9x9": (3, 3)}
"""Number of rows and of columns of a block, by size of the grid."""


class Rules(NamedTuple):
    """Rules of a grid: cells that must differ."""

    digits: int
    """Number n of digits."""
    units: tuple[tuple[int, ...], ...]
    """Cells of each row, column and block; each holds all digits."""
    peers: tuple[tuple[int, ...], ...]
    """Other cells of the row, column and block of every cell."""


@cache
def sudoku_rules(size: Size) -> Rules:
    """Return the rules of grids of a size."""
    height, width = BLOCKS[size]
    digits = height * width
    cells = range(digits**2)
    rows = [cell // digits for cell in cells]
    columns = [cell % digits for cell in cells]
    blocks = [(row // height, column // width) for row, column in zip(rows, columns, strict=True)]
    units = [
        tuple(cell for cell in cells if kind[cell] == each)
        for kind in (rows, columns, blocks)
        for each in sorted({*kind})
    ]
    peers = [
        tuple(sorted({other for unit in units if cell in unit for other in unit} - {cell}))
        for cell in cells
    ]
    return Rules(digits, tuple(units), tuple(peers))


def find_solutions(size: Size, givens: Sequence[int], most: int = 2) -> list[list[int]]:
    """Return at most `most` solved grids that agree with the given digits, 0 for a blank."""
    rules = sudoku_rules(size)
    free = (1 << rules.digits) - 1
    candidates = [1 << (digit - 1) if digit else free for digit in givens]
    return list(islice(search_solutions(rules, candidates), most))


def search_solutions(rules: Rules, candidates: list[int]) -> Iterator[list[int]]:
    """Yield solved grids within the candidates, which do not change, by propagation and guesses."""
    fixed = [cell for cell, bits in enumerate(candidates) if not bits & (bits - 1)]
    yield from _search_solutions(rules, list(candidates), fixed)


def _search_solutions(rules: Rules, candidates: list[int], fixed: list[int]) -> Iterator[list[int]]:
    if not _propagate_digits(rules, candidates, fixed):
        return
    # The cell with the fewest candidates has the fewest wrong guesses.
    open_cells = [
        (bits.bit_count(), cell) for cell, bits in enumerate(candidates) if bits & bits - 1
    ]
    if not open_cells:
        yield [bits.bit_length() for bits in candidates]
        return
    _, cell = min(open_cells)
    for digit in range(rules.digits):
        if candidates[cell] >> digit & 1:
            guessed = candidates.copy()
            guessed[cell] = 1 << digit
            yield from _search_solutions(rules, guessed, [cell])


def _propagate_digits(rules: Rules, candidates: list[int], fixed: list[int]) -> bool:
    """Remove candidates that cannot be, in place, until nothing more follows.

    `fixed` are cells with one candidate that their peers still may have; it is used up. Return
    false at a contradiction.
    """
    while _exclude_from_peers(rules, candidates, fixed):
        if not _find_places(rules, candidates, fixed):
            return False
        if not fixed:
            return True
    return False


def _exclude_from_peers(rules: Rules, candidates: list[int], fixed: list[int]) -> bool:
    """Take the digit of each fixed cell from its peers; return whether each keeps a candidate."""
    while fixed:
        cell = fixed.pop()
        digit = candidates[cell]
        if not digit:
            return False
        for peer in rules.peers[cell]:
            left = candidates[peer]
            if left & digit:
                left ^= digit
                if not left:
                    return False
                candidates[peer] = left
                if not left & (left - 1):
                    fixed.append(peer)
    return True


def _find_places(rules: Rules, candidates: list[int], fixed: list[int]) -> bool:
    """Fix digits that have one place left in a unit; return whether each digit has a place."""
    all_digits = (1 << rules.digits) - 1
    for unit in rules.units:
        seen = twice = 0
        for cell in unit:
            bits = candidates[cell]
            twice |= seen & bits
            seen |= bits
        if seen != all_digits:
            return False
        # Without a digit in two cells, all of the unit are fixed.
        once = seen & ~twice if twice else 0
        for cell in unit if once else ():
            bits = candidates[cell]
            digit = bits & once
            if digit and digit != bits:
                if digit & (digit - 1):
                    return False
                candidates[cell] = digit
                fixed.append(cell)
    return True


def grid_classes(size: Size) -> NDArray[np.uint8]:
    """Return digits [grids, S] of all grids whose first row is 1..n, one per class up to renaming.

    There are 12 of 4x4 and 39,168 of 6x6; those of 9x9 are too many.
    """
    digits = sudoku_rules(size).digits
    first_row = [*range(1, digits + 1)] + [0] * (digits**2 - digits)
    found = find_solutions(size, first_row, most=1 << 32)
    return np.array(found, dtype=np.uint8)


def all_grids(size: Size) -> NDArray[np.uint8]:
    """Return digits [grids, S] of all solved grids: 288 of 4x4; larger sizes have too many."""
    relabelled = np.array(list(permutations(range(1, sudoku_rules(size).digits + 1))), np.uint8)
    return np.concatenate([labels[grid_classes(size) - 1] for labels in relabelled])
