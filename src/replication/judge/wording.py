"""Verdicts in words: how many comparisons hold, and the least favourable estimate."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from replication.judge.verdicts import (
    BEST_FIRST,
    DECISIONS,
    HOLDING,
    Comparison,
    Verdict,
    comparisons_that_count,
)

DECLARED_LATE = "declared late"
"""Remark beside a claim that was declared after its seeds had been seen."""
MOST_NAMED_CELLS = 4
"""Largest number of comparisons with the same decision that a sentence names."""


def short_verdict(verdict: Verdict, *, late: bool = False) -> str:
    """Return a verdict in a few words: "in part, declared late, 4 of 6 hold, 1 open"."""
    total = len(verdict.counted)
    undecided = sum(each.decision == "open" for each in verdict.counted)
    has_count = total > 1 and verdict.verdict not in HOLDING
    parts = {
        verdict.verdict: True,
        DECLARED_LATE: late,
        f"{verdict.holding} of {total} hold": has_count,
        f"{undecided} open": has_count and undecided and verdict.verdict != "open",
    }
    return ", ".join(words for words, is_said in parts.items() if is_said)


def how_much(comparisons: Sequence[Comparison]) -> str:
    """Return how many comparisons hold, and what the others say: "4 of 6 hold; open in 'CB'".

    Comparisons for robustness come last, and are not counted.
    """
    beside = [item for item in comparisons if item.is_robustness]
    count = _how_much(comparisons_that_count(comparisons))
    return f"{count}; for robustness: {_how_much(beside)}" if beside else count


def _how_much(comparisons: Sequence[Comparison]) -> str:
    total, groups = len(comparisons), defaultdict(list)
    for item in sorted(comparisons, key=lambda each: [*DECISIONS].index(each.decision)):
        groups[_decision_in_words(item)].append(item.cell)
    parts = [f"{len(groups.pop('holds', ()))} of {total} {'holds' if total == 1 else 'hold'}"]
    for words, cells in groups.items():
        more = len(cells) - MOST_NAMED_CELLS
        named = ", ".join(f"'{cell}'" for cell in cells[:MOST_NAMED_CELLS])
        where = f" in {named}" + f" and {more} more" * (more > 0)
        parts.append(words + (" in all" * (total > 1) if len(cells) == total else where))
    return "; ".join(parts)


def _decision_in_words(item: Comparison) -> str:
    # Without a smallest effect only a bound of zero parts a direction from the opposite one.
    is_direction = item.bound is not None and (item.p_none is not None or item.bound == 0)
    sign = 1 if item.upper is None else -1
    ends = [sign * end for end in (item.low, item.high) if end is not None]
    # Zero is the claim's only bound, and the interval lies on the other side of it.
    is_opposite = item.bound == 0 and len(ends) == 2 and max(ends) < 0
    return {
        "fails": "the opposite" if is_direction else "outside the range",
        "none": "too small to matter",
        "less": "less than claimed" + ", of the opposite sign" * is_opposite,
    }.get(item.decision, item.decision)


def summary_sentence(comparisons: Sequence[Comparison]) -> str:
    """Return one sentence: how many comparisons hold, and the least favourable value."""
    counted = comparisons_that_count(comparisons)
    found, needed = estimate_and_range(counted, "{:.3g}".format)
    which = f"least favourable value, in '{least_favourable(counted).cell}'," * (len(counted) > 1)
    return f"{how_much(comparisons)}; the {which or 'value'} is {found}, expected {needed}"


def least_favourable(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison that speaks most against the claim."""
    return least_favourable_first(comparisons)[0]


def least_favourable_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons by how much they speak against the claim; the most first."""
    return sorted(comparisons, key=_unfavourableness, reverse=True)


def _unfavourableness(item: Comparison) -> tuple[int, float]:
    """Return the rank of the decision, and the distance of the estimate outside the range.

    Where a claim has a range, its width is the unit, as comparisons can have ranges of their own.
    """
    lower = -np.inf if item.lower is None else item.lower
    upper = np.inf if item.upper is None else item.upper
    width = upper - lower if np.isfinite(upper - lower) else 1
    excess = max(lower - item.estimate, item.estimate - upper) / (width or 1)
    return BEST_FIRST.index(item.decision), float(excess)


def estimate_and_range(
    comparisons: Sequence[Comparison], number: Callable[[float], str]
) -> tuple[str, str]:
    """Return the least favourable estimate with its interval, and the range that the claim needs.

    Both texts are empty if there are no comparisons. `number` writes a number, here and below.
    """
    if not comparisons:
        return "", ""
    worst = least_favourable(comparisons_that_count(comparisons))
    return estimate_in_words(worst, number), range_in_words(worst.lower, worst.upper, number)


def estimate_in_words(item: Comparison, number: Callable[[float], str]) -> str:
    """Return an estimate, such as "3", with its interval if that has two ends."""
    estimate = number(item.estimate)
    if item.low is None or item.high is None:
        return estimate
    return f"{estimate} ({number(item.low)} to {number(item.high)})"


def range_in_words(lower: float | None, upper: float | None, number: Callable[[float], str]) -> str:
    """Return a range as "at least 1 and at most 2"; an end that is None is left out."""
    ends = (("at least", lower), ("at most", upper))
    return " and ".join(f"{name} {number(end)}" for name, end in ends if end is not None)
