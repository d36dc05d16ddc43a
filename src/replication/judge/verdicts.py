"""Verdicts on claims: their names, what each means, and the comparisons that make them."""

from collections.abc import Sequence
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


class Comparison(Strict):
    """One comparison of a claim, judged."""

    cell: str
    """Name of the comparison."""
    estimate: float
    """The value, or the mean or median over seeds; of an equivalence or a published value ours
    minus the paper's."""
    low: float | None = None
    """Lower end of the interval by which it was decided."""
    high: float | None = None
    """Upper end of that interval."""
    confidence: float | None = None
    """Probability that this interval covers the mean.

    The ends are one-sided limits at the corrected level, so that the interval lies in the claim's
    range exactly if the comparison holds.
    """
    lower: float | None = None
    """Lower end of the claim's range, moved by the smallest effect that matters."""
    upper: float | None = None
    """Upper end of the claim's range, moved by the smallest effect that matters."""
    bound: float | None = None
    """Bound of a claim's range that has only one; the smallest effect does not move this bound."""
    effect: float | None = None
    """Estimate, or its distance from the claim's bound (the lower one if there are two), in
    standard deviations of one seed; the smallest effect does not move this bound."""
    p: float | None = None
    """p value for the claim, corrected over the family."""
    p_against: float | None = None
    """p value against the claim, corrected over the family."""
    p_none: float | None = None
    """p value for an effect too small to matter, corrected over the family."""
    p_less: float | None = None
    """p value for an effect below the smallest that matters, corrected over the family."""
    decision: Decision
    """Answer of the comparison, see `DECISIONS`."""
    is_robustness: bool = False
    """True if, by the study's rule, the comparison is shown but does not count for the verdict."""


class Verdict(Strict):
    """The verdict on one claim, with its comparisons."""

    claim: str
    """Number of the claim in the registry."""
    verdict: Outcome
    """Verdict on the claim."""
    summary: str
    """The verdict in one sentence."""
    seeds: int
    """Number of seeds behind each comparison, the smaller one of two samples; 0 for the theory and
    for what could not be measured."""
    resolution: float | None = None
    """Distance inside the range at which all comparisons that count pass together with the
    probability `PROBABILITY`, in standard deviations of one seed. The distance is that of the means
    from the bound, which the smallest effect has moved. None for the theory and for medians."""
    comparisons: list[Comparison]
    """Comparisons, one per name in the evidence; none if the claim could not be measured."""

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
