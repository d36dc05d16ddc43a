"""Verdicts in words: how many comparisons hold, and the least favourable estimate."""

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
    decisions = [each.decision for each in verdict.counted]
    has_count = len(decisions) > 1 and verdict.verdict not in HOLDING
    count = f"{verdict.holding} of {len(decisions)} hold" * has_count
    undecided = decisions.count("open")
    rest = f"{undecided} open" * (has_count and verdict.verdict != "open" and undecided > 0)
    return ", ".join(filter(None, [verdict.verdict, DECLARED_LATE * late, count, rest]))


def how_much(comparisons: Sequence[Comparison]) -> str:
    """Return how many comparisons hold, and what the others say: "4 of 6 hold; open in 'CB'".

    Comparisons for robustness come last, and are not counted.
    """
    count = _how_much(comparisons_that_count(comparisons))
    beside = [item for item in comparisons if item.is_robustness]
    return f"{count}; for robustness: {_how_much(beside)}" if beside else count


def _how_much(comparisons: Sequence[Comparison]) -> str:
    holding = sum(item.decision == "holds" for item in comparisons)
    parts = [f"{holding} of {len(comparisons)} {'holds' if len(comparisons) == 1 else 'hold'}"]
    groups: dict[str, list[str]] = {}
    for item in sorted(comparisons, key=lambda each: [*DECISIONS].index(each.decision)):
        if item.decision != "holds":
            groups.setdefault(_decision_in_words(item), []).append(item.cell)
    for words, cells in groups.items():
        if len(cells) == len(comparisons):
            parts.append(words if len(cells) == 1 else f"{words} in all")
        else:
            more = len(cells) - MOST_NAMED_CELLS
            named = [f"'{cell}'" for cell in cells[:MOST_NAMED_CELLS]]
            parts.append(f"{words} in {', '.join(named)}" + (f" and {more} more" * (more > 0)))
    return "; ".join(parts)


def _decision_in_words(item: Comparison) -> str:
    """Return in words the decision of a comparison that does not hold."""
    # Without a smallest effect only a bound of zero parts a direction from the opposite one.
    is_direction = item.bound is not None and (item.p_none is not None or item.bound == 0)
    return {
        "fails": "the opposite" if is_direction else "outside the range",
        "none": "too small to matter",
        "less": f"less than claimed{', of the opposite sign' * _is_of_opposite_sign(item)}",
    }.get(item.decision, item.decision)


def _is_of_opposite_sign(item: Comparison) -> bool:
    """Say whether zero is the claim's only bound, and the interval lies on the other side of it."""
    if item.bound != 0 or item.low is None or item.high is None:
        return False
    return item.high < 0 if item.upper is None else item.low > 0


def summary_sentence(comparisons: list[Comparison]) -> str:
    """Return one sentence: how many comparisons hold, and the least favourable value."""
    counted = comparisons_that_count(comparisons)
    found, needed = estimate_and_range(counted, "{:.3g}".format)
    which = f"least favourable value, in '{least_favourable(counted).cell}'," * (len(counted) > 1)
    return f"{how_much(comparisons)}; the {which or 'value'} is {found}, expected {needed}"


def least_favourable(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the comparison that speaks most against the claim."""
    return max(comparisons, key=_unfavourableness)


def least_favourable_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons by how much they speak against the claim; the most first."""
    return sorted(comparisons, key=_unfavourableness, reverse=True)


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


def _unfavourableness(item: Comparison) -> tuple[int, float]:
    """Return a key that sorts favourable comparisons first: the decision, then the estimate.

    Where a claim has a range, its width is the unit, as comparisons can have ranges of their own.
    """
    rank = BEST_FIRST.index(item.decision)
    excess = max(
        -np.inf if item.lower is None else item.lower - item.estimate,
        -np.inf if item.upper is None else item.estimate - item.upper,
    )
    if item.lower is not None and item.upper is not None:
        excess /= item.upper - item.lower or 1
    return rank, float(excess)


def range_in_words(lower: float | None, upper: float | None, number: Callable[[float], str]) -> str:
    """Return a range as "at least 1 and at most 2"; an end that is None is left out."""
    ends = (("at least", lower), ("at most", upper))
    return " and ".join(f"{name} {number(end)}" for name, end in ends if end is not None)
