"""Program that draws the puzzles of one size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.recurrent_attention.data.puzzles_4x4 import sample_4x4
from transformer_dynamics.recurrent_attention.data.puzzles_6x6 import sample_6x6
from transformer_dynamics.recurrent_attention.data.puzzles_9x9 import sample_9x9
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob


def sample(job: BoardJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Draw puzzles with one solution each, the same for all seeds.

    Return for every split of `SPLITS` `<split>_solutions` (uint8 [puzzles, S], digits 1..n) and
    `<split>_given` (bool [puzzles, S]), cells row by row. Raise InputError if the source of 9x9, a
    list of puzzles with 17 givens, is damaged or there are too few givens for one solution.
    """
    if job.size == "9x9":
        (path,) = sources
        puzzles = sample_9x9(job, path)
    else:
        puzzles = sample_4x4(job) if job.size == "4x4" else sample_6x6(job)
    return {
        f"{split}_{name}": array
        for split, found in puzzles.items()
        for name, array in found._asdict().items()
    }
