"""A claim and its verdict, in the words of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replication.figures.typeset import number
from replication.judge.verdicts import (
    NOT_HOLDING,
    Comparison,
    Verdict,
    estimate_and_range,
    least_favourable_first,
)
from replication.plan.study_jobs import StudyJobs
from replication.report.forest import Axis
from replication.study.claims import SHOWN, THEORY, Claim
from replication.study.contract import Figure
from replication.study.registry import Registry

MOST_SHOWN = 100
"""Largest number of a claim's comparisons that a page shows; all are in the table beside it."""


@dataclass(frozen=True)
class ClaimView:
    """A claim, its verdict, and the figure that it is shown with; no name if there is none."""

    registry: Registry
    claim: Claim
    verdict: Verdict
    figure: str

    @property
    def words(self) -> str:
        """Words that tell the claim wherever the page does: its headline, or else its statement."""
        return self.claim.headline or self.claim.statement

    @property
    def summary(self) -> str:
        """The verdict in one sentence, or the reason why there is none."""
        return f"{self.verdict.summary}." if self.claim.test else self.verdict.summary

    @property
    def scale(self) -> str:
        """Scale at which a claim about training is judged; empty for other claims."""
        seeds = self.verdict.seeds
        return self.registry.scale_of(self.claim, seeds) if self.claim.test else ""

    @property
    def at_paper_scale(self) -> str:
        """Verdict at the paper's scale in words; empty if no such run is kept."""
        return self.registry.at_paper_scale.get(self.claim.id, "")

    @property
    def is_contested(self) -> bool:
        """True for the paper's own claims that hold in part, do not hold, or are open."""
        return self.claim.group in {SHOWN, THEORY} and self.verdict.verdict in NOT_HOLDING

    @property
    def place(self) -> str:
        """Kind of the place that states the claim: Lemma for 'Lemma 3' and for 'Lemmas 3 and 5'."""
        word = self.claim.where.split()[0].rstrip(".:,")
        return word.removesuffix("s") if word.istitle() else "Other place"

    @property
    def found_and_needed(self) -> tuple[str, str]:
        """Least favourable estimate with its interval, and the range in which it has to lie."""
        return estimate_and_range(self.verdict.comparisons, number)

    @property
    def shown(self) -> list[Comparison]:
        """Comparisons that the page shows, in their order: all, or else the least favourable."""
        comparisons = self.verdict.comparisons
        kept = {id(item) for item in least_favourable_first(comparisons)[:MOST_SHOWN]}
        return [item for item in comparisons if id(item) in kept]

    @property
    def axis(self) -> Axis:
        """Axis of the evidence that is shown."""
        return Axis.of(self.shown)


def claim_views(study: StudyJobs, verdicts: Mapping[str, Verdict]) -> Sequence[ClaimView]:
    """Return a view of every claim of a study, in order; claims without a verdict say why."""
    return [
        ClaimView(
            study.registry,
            claim,
            verdicts.get(claim.id) or Verdict.without_evidence(claim.id, str(claim.not_tested)),
            figure_of(claim, study.figures),
        )
        for claim in study.registry.claims
    ]


def figure_of(claim: Claim, figures: Mapping[str, Figure]) -> str:
    """Return the figure that a claim is shown at: the one that it names, or the first of that kind.

    The name is empty if there is no such figure.
    """
    if claim.figure and claim.figure in figures:
        return claim.figure
    return next((name for name, figure in figures.items() if figure.kind == claim.figure), "")
