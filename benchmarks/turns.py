"""Two ways to the same numbers: check that they agree, then time both by turns."""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import ArrayLike

from replication.base.markdown import table

ROUNDS = 3
HEADER = ("step", "the literal way", "this project", "ratio")
Work = Callable[[], ArrayLike]
"""Function that does a whole step and returns numbers, which another way must return, too."""


class Compared(NamedTuple):
    """A step done in two ways."""

    step: str
    """The step and its size."""
    literal: str
    """Name of the literal way."""
    seconds: tuple[float, float]
    """Least seconds of all rounds, of the literal way and of this project's."""

    @property
    def ratio(self) -> float:
        """Time of the literal way as a multiple of this project's."""
        return self.seconds[0] / self.seconds[1]


def time_by_turns(
    step: str,
    ways: tuple[str, Work, Work],
    tolerance: float,
    rounds: int = ROUNDS,
) -> Compared:
    """Run both ways once, to warm up and to compare, then by turns.

    Args:
        step: the step and its size.
        ways: name of the literal way, that way, and this project's.
        tolerance: the largest difference, relative to the largest number.
        rounds: number of timings of each way.

    Raises:
        ClickException: if their numbers differ by more.
    """
    name, literal, ours = ways
    check_agreement(step, literal(), ours(), tolerance)
    taken = [(time_call(literal), time_call(ours)) for _ in range(rounds)]
    first, second = (min(each) for each in zip(*taken, strict=True))
    return Compared(step, name, (first, second))


def check_agreement(step: str, exact: ArrayLike, found: ArrayLike, tolerance: float) -> None:
    """Refuse numbers that are not those of the literal way.

    Args:
        step: the step and its size.
        exact: numbers of the literal way.
        found: numbers of this project.
        tolerance: the largest difference, relative to the largest number.

    Raises:
        ClickException: if they differ by more, in shape, or are not finite.
    """
    shapes = np.shape(exact), np.shape(found)
    if shapes[0] != shapes[1]:
        raise click.ClickException(f"{step}: {shapes[0]} and {shapes[1]} cannot be compared")
    difference = relative_difference(exact, found)
    # Not `>`: NaN must not pass.
    if not difference <= tolerance:
        raise click.ClickException(f"{step}: the two ways differ by {difference:.1e}")


def relative_difference(values: ArrayLike, others: ArrayLike) -> float:
    """Return the largest difference, over the largest of the first numbers.

    The quotient is NaN if one of the numbers is not finite.
    """
    first, second = (np.asarray(each, np.float64) for each in (values, others))
    largest = np.max(np.abs(first - second), initial=0.0)
    return float(largest / max(np.max(np.abs(first), initial=0.0), np.finfo(float).tiny))


def time_call(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def to_markdown(rows: Iterable[Compared], rounds: int = ROUNDS) -> str:
    """Return a table in Markdown."""
    cells = [
        (
            row.step,
            f"{row.literal}: {_format_seconds(row.seconds[0])}",
            _format_seconds(row.seconds[1]),
            f"{row.ratio:.2g}" if row.ratio < 10 else f"{row.ratio:.0f}",
        )
        for row in rows
    ]
    return "\n".join([*table(HEADER, cells), "", f"one thread, best of {rounds}"])


def _format_seconds(taken: float) -> str:
    return f"{taken:.2f} s" if taken >= 1 else f"{1e3 * taken:.3g} ms"
