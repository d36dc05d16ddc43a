"""Verdicts on claims: names and meanings, the comparisons that make them, and both in words."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from replication.base.strict import Strict

FEWEST_SEEDS = 5
"""Fewest seeds that make a verdict.

With fewer, a standard deviation is known so badly that a test says little about other seeds.
"""
PROBABILITY = 0.9
"""Probability that a claim passes at its resolution."""
Holding = Literal["verified", "reproduced", "replicated"]
HOLDING: tuple[Holding, ...] = get_args(Holding)
"""Verdicts on claims of which every comparison holds."""
Outcome = Literal[Holding, "in part", "does not hold", "open", "not tested"]
OUTCOMES: dict[Outcome, str] = {
    "verified": "holds: a statement of the theory, computed; every value is in its declared range",
    "reproduced": "holds: the paper's seeds give the paper's numbers, to the precision of print",
    "replicated": "holds: independent seeds pass the declared test in every comparison",
    "in part": "some comparisons hold, others do not or are open; they are named",
    "does not hold": "no comparison holds, and one or more say otherwise: the opposite, no effect"
    " that matters, or less than claimed; of the theory, one value or more is outside its range",
    "open": "the seeds do not suffice to tell, in any comparison",
    "not tested": "not judged; the reason is given",
}
"""Meaning of each verdict."""
NOT_HOLDING: tuple[Outcome, ...] = ("in part", "does not hold", "open")
"""Verdicts on claims that were judged and of which not every comparison holds."""
Decision = Literal["holds", "fails", "none", "less", "open"]
DECISIONS: dict[Decision, str] = {
    "holds": "as claimed",
    "fails": "the opposite of the claim, or outside its range",
    "none": "no effect that matters",
    "less": "less than claimed: the effect that matters is excluded, no effect and the opposite are"
    " not told apart",
    "open": "the seeds do not suffice to tell",
}
"""Meaning of each decision of a comparison; it takes the first that the data allow."""
BEST_FIRST: tuple[Decision, ...] = ("holds", "open", "less", "none", "fails")
"""Decisions, from that which speaks most for a claim."""
AT_PAPER_SCALE = "at_paper_scale"
"""Column of a scorecard's table that is there only if verdicts at the paper's scale are kept."""
DECIDED_BY = "decided by "
"""Beginning of the mark of a sentence that the paper's other study decides."""
DECLARED_LATE = "declared late"
"""Remark beside a claim that was declared after its seeds had been seen."""
MOST_NAMED_CELLS = 4
"""Largest number of comparisons with the same decision that a sentence names."""


class Comparison(Strict):
    """One comparison of a claim, judged.

    cell           its name
    estimate       the value, or the mean or median over seeds; of an equivalence or a published
                   value ours minus the paper's
    low, high      ends of the interval by which it was decided
    confidence     probability that this interval covers the mean; the ends are one-sided limits at
                   the corrected level, so that the interval lies in the claim's range exactly if
                   the comparison holds
    lower, upper   ends of the claim's range, moved by the smallest effect that matters
    bound          bound of a range that has only one, not moved
    effect         estimate, or its distance from the claim's bound (the lower one if there are two,
                   not moved), in standard deviations of one seed
    p              p value for the claim; this one and those below are corrected over the family
    p_against      p value against the claim
    p_none         p value for an effect too small to matter
    p_less         p value for an effect below the smallest that matters
    decision       answer of the comparison, see `DECISIONS`
    is_robustness  true if, by the study's rule, it is shown but does not count for the verdict
    """

    cell: str
    estimate: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    lower: float | None = None
    upper: float | None = None
    bound: float | None = None
    effect: float | None = None
    p: float | None = None
    p_against: float | None = None
    p_none: float | None = None
    p_less: float | None = None
    decision: Decision
    is_robustness: bool = False


class Verdict(Strict):
    """The verdict on one claim, with its comparisons.

    claim        number of the claim in the registry
    verdict      verdict on the claim
    summary      the verdict in one sentence
    seeds        number of seeds behind each comparison, the smaller one of two samples; 0 for the
                 theory and for a claim that could not be measured
    resolution   distance of the means inside the moved bound at which all comparisons that count
                 pass together with the probability `PROBABILITY`, in standard deviations of one
                 seed; None for the theory and for medians
    comparisons  one per name in the evidence; none if the claim could not be measured
    """

    claim: str
    verdict: Outcome
    summary: str
    seeds: int
    resolution: float | None = None
    comparisons: list[Comparison]

    @property
    def counted(self) -> list[Comparison]:
        """Comparisons that count."""
        return comparisons_that_count(self.comparisons)

    @property
    def holding(self) -> int:
        """Number of the comparisons that count and hold."""
        return sum(item.decision == "holds" for item in self.counted)

    @classmethod
    def without_evidence(cls, claim: str, reason: str) -> "Verdict":
        """Return the verdict on a claim that is not tested, with the reason."""
        return cls(claim=claim, verdict="not tested", summary=reason, seeds=0, comparisons=[])


def comparisons_that_count(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that count for the verdict: all except those for robustness."""
    return [item for item in comparisons if not item.is_robustness]


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
    """Return how many comparisons hold, and the answers of the others: "4 of 6 hold; open in 'CB'".

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
    worst, *others = least_favourable_first(comparisons_that_count(comparisons))
    found, needed = estimate_and_range([worst], "{:.3g}".format)
    which = f"least favourable value, in '{worst.cell}'," if others else "value"
    return f"{how_much(comparisons)}; the {which} is {found}, expected {needed}"


def least_favourable_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons by how much they speak against the claim; the most first."""
    return sorted(comparisons, key=_unfavourableness, reverse=True)


def _unfavourableness(item: Comparison) -> tuple[int, float]:
    """Return the rank of the decision, and the distance of the estimate outside the range.

    Where a claim has a range, its width is the unit, as comparisons can have ranges of their own.
    """
    lower, upper = range_of(item)
    width = upper - lower if math.isfinite(upper - lower) else 1
    excess = max(lower - item.estimate, item.estimate - upper) / (width or 1)
    return BEST_FIRST.index(item.decision), excess


def range_of(item: Comparison) -> tuple[float, float]:
    """Return the ends of the range that a comparison needs, infinite where it has none."""
    lower = -math.inf if item.lower is None else item.lower
    return lower, math.inf if item.upper is None else item.upper


def estimate_and_range(
    comparisons: Sequence[Comparison], number: Callable[[float], str]
) -> tuple[str, str]:
    """Return the least favourable estimate with its interval, and the range that the claim needs.

    Both texts are empty if there are no comparisons. `number` writes a number, here and below.
    """
    if not comparisons:
        return "", ""
    worst = least_favourable_first(comparisons_that_count(comparisons))[0]
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
