"""The axis of a claim's evidence, which all its comparisons share."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from replication.figures.typeset import number, power_of_ten
from replication.judge.verdicts import Comparison

MOST_MARKS = 5
_DECADES_FROM = 1000


class Axis(NamedTuple):
    """An axis from its first to its last mark, which are logarithms on a logarithmic axis."""

    marks: list[float]
    is_logarithmic: bool

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> "Axis":
        """Return the axis of some comparisons.

        It is logarithmic where no number is negative and the positive ones span three decades.
        """
        values = [
            value
            for item in comparisons
            for value in (item.estimate, item.low, item.high, item.lower, item.upper)
            if value is not None
        ]
        positive = [value for value in values if value > 0]
        is_logarithmic = bool(
            positive and min(values) >= 0 and max(positive) > _DECADES_FROM * min(positive)
        )
        scaled = [*map(math.log10, positive)] if is_logarithmic else values
        first, last = min(scaled), max(scaled)
        around = 0.0 if first < last else abs(first) / 2 or 1.0
        # Late: the end of a run says its outcome in words, and need not wait for Matplotlib.
        from matplotlib.ticker import MaxNLocator

        locator = MaxNLocator(MOST_MARKS, steps=[1, 2, 5, 10], integer=is_logarithmic)
        marks = locator.tick_values(first - around, last + around)
        return cls([*map(float, marks)], is_logarithmic)

    def place(self, value: float) -> float:
        """Return the place of a value in percent; a value beyond the axis is at the axis' end."""
        if self.is_logarithmic:
            value = math.log10(value) if value > 0 else -math.inf
        share = (value - self.marks[0]) / (self.marks[-1] - self.marks[0])
        return round(100 * min(max(share, 0), 1), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Place in percent and number of each mark."""
        values = [10.0**mark for mark in self.marks] if self.is_logarithmic else self.marks
        name = power_of_ten if self.is_logarithmic else number
        return [(self.place(value), name(value)) for value in values]
