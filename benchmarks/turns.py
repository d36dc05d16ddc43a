"""Two ways to the same numbers: first that they agree, then what each takes, by turns."""

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
"""Does all of a step, and returns numbers by which another way is compared with it."""


class Compared(NamedTuple):
    """A step done in two ways."""

    step: str
    """What is done, and of which size."""
    literal: str
    """How it is done literally."""
    seconds: tuple[float, float]
    """The least of all rounds, literally and by this project."""

    @property
    def ratio(self) -> float:
        """How many times longer the literal way takes."""
        return self.seconds[0] / self.seconds[1]


def time_by_turns(
    step: str,
    ways: tuple[str, Work, Work],
    tolerance: float,
    rounds: int = ROUNDS,
) -> Compared:
    """Run both ways once, to warm up and to compare, then by turns.

    Args:
        step: see `Compared`.
        ways: what the literal way is called, that way, and this project's.
        tolerance: the largest difference, relative to the largest number.
        rounds: how often each is timed.

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
        step: what they are of.
        exact: of the literal way.
        found: of this project.
        tolerance: the largest difference, relative to the largest number.

    Raises:
        ClickException: if they differ by more, in shape, or are not finite.
    """
    one, other = np.asarray(exact, np.float64), np.asarray(found, np.float64)
    if one.shape != other.shape:
        raise click.ClickException(f"{step}: {one.shape} and {other.shape} cannot be compared")
    difference = np.abs(one - other).max() / np.abs(one).max()
    # So that NaN is no agreement.
    if not difference <= tolerance:
        raise click.ClickException(f"{step}: the two ways differ by {difference:.1e}")


def time_call(work: Callable[[], object]) -> float:
    """What a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def to_markdown(rows: Iterable[Compared], rounds: int = ROUNDS) -> str:
    """A table in Markdown."""
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
