"""9x9 puzzles: from a list of puzzles with 17 givens, with more givens revealed.

The recipe is that of the paper's data set: R. Palm, U. Paquet, O. Winther: Recurrent Relational
Networks, 2018, arXiv:1711.08028. The list is cut into three pools; a puzzle is one of its pool,
drawn with replacement, whose digits are renamed and some of whose blanks are revealed.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.data.grids import find_solutions
from transformer_dynamics.recurrent_attention.data.puzzles import (
    Puzzles,
    draw_numbers_of_givens,
    random_generator,
    relabel_digits,
)
from transformer_dynamics.recurrent_attention.settings.boards import FEWEST_GIVENS, BoardJob, Split

PARTS = ("test", "valid", "train")
"""Parts in the order in which they are cut off the list."""

_LINE = re.compile(r"[0-9]{81}")


def sample_9x9(job: BoardJob, path: Path) -> dict[str, Puzzles]:
    """Draw the puzzles of every split; return them by name of the split.

    Training, validation and test share no puzzle of the list; ten of its 49,151 puzzles have the
    solution of another, up to the names of digits, so that a few solutions may be shared. Each
    number of givens is as frequent as any other. The list has a heading, then a puzzle a line: 81
    digits, 0 for a blank. Raise InputError with the file and the line that cannot be used.
    """
    listed = _read_list(path, job.list_sha256)
    pools = split_rows(random_generator(job).permutation(len(listed)), job.parts(len(listed)))
    if len(np.unique(np.concatenate([*pools.values()]))) != len(listed):
        raise AssertionError("training, validation and test share a puzzle, or lack one")
    return {
        split.name: _draw_puzzles(
            random_generator(job, split), listed, pools[split.part], split, path
        )
        for split in job.splits
    }


def _read_list(path: Path, sha256: str | None) -> NDArray[np.uint8]:
    """Return the puzzles of the list [puzzles, S], 0 for a blank."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path}: its sha256 is {found}, expected {sha256}: it is not the list that the"
            " configuration names; delete it and run again, or correct list_sha256"
        )
    # The heading names an author and may have any letters; puzzles have digits alone.
    lines = content.decode("latin-1").splitlines()[1:]
    known: dict[str, int] = {}
    for number, line in enumerate(lines, start=2):
        if not _LINE.fullmatch(line) or 81 - line.count("0") != FEWEST_GIVENS["9x9"]:
            raise InputError(
                f"{path}: line {number} is no puzzle: expected 81 digits, of which"
                f" {FEWEST_GIVENS['9x9']} are not 0, got {line[:90]!r}"
            )
        if known.setdefault(line, number) != number:
            raise InputError(f"{path}: lines {known[line]} and {number} are the same puzzle")
    if len(lines) < len(PARTS):
        raise InputError(
            f"{path}: has {len(lines)} puzzles after its heading, too few for training, validation"
            " and test"
        )
    return np.array([list(map(int, line)) for line in lines], dtype=np.uint8)


def split_rows(order: NDArray[np.int64], sizes: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
    """Return rows by part: the first of a random order for the test, the next for validation."""
    ends = np.cumsum([sizes[part] for part in PARTS])
    return dict(zip(PARTS, np.split(order, ends[:-1]), strict=True))


def _draw_puzzles(
    random: np.random.Generator,
    listed: NDArray[np.uint8],
    pool: NDArray[np.int64],
    split: Split,
    path: Path,
) -> Puzzles:
    numbers = draw_numbers_of_givens(random, split.puzzles, split.givens)
    used, index = np.unique(random.choice(pool, split.puzzles), return_inverse=True)
    # Only what is drawn is solved: the whole list would take longer than most draws.
    solved = np.array([_solve_listed(listed[row].tolist(), row, path) for row in used], np.uint8)
    # The givens of the list come first, then blanks in random order.
    priority = random.random((split.puzzles, listed.shape[1])) + (listed[used[index]] == 0)
    rank = priority.argsort(axis=1).argsort(axis=1)
    return Puzzles(relabel_digits(random, solved[index], digits=9), rank < numbers[:, None])


def _solve_listed(puzzle: list[int], row: int, path: Path) -> list[int]:
    found = find_solutions("9x9", puzzle)
    if len(found) != 1:
        many = "several solutions" if found else "no solution"
        raise InputError(f"{path}: line {row + 2} has {many}, expected one; use another list")
    return found[0]
