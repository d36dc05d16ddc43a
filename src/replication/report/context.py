"""From claims, verdicts and figures to what the page shows, and where."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from replication.errors import InputError
from replication.registry import (
    Bounds,
    Claim,
    Equivalence,
    FigureText,
    Interval,
    Prediction,
    Published,
    Registry,
    Test,
    Trend,
)
from replication.report.forest import Plot, forest
from replication.report.sources import FigureSource, Picture, Table
from replication.report.typeset import number, typeset
from replication.verification.judgement import OUTCOMES, Comparison, Outcome, Verdict

_PLURALS = {
    "Appendix": "Appendices",
    "Corollary": "Corollaries",
    "Corollarie": "Corollaries",
    "Eq": "Equations",
    "Figure": "Figures that are not drawn here",
}


class ClaimView(NamedTuple):
    """One claim and what came of it."""

    claim: Claim
    """It."""
    outcome: Outcome
    """Its verdict."""
    summary: str
    """Its verdict in one sentence, or why there is none."""
    seeds: int
    """Number of seeds behind each comparison."""
    comparisons: Sequence[Comparison]
    """Its evidence."""
    plot: Plot | None
    """Its evidence, drawn."""
    ours: str
    """The estimate, or the range of estimates."""
    axis: str
    """What the plot's axis shows."""
    judged: str
    """How it is judged."""
    figure: str
    """Figure that it is shown with; empty if that is not drawn."""
    search: str
    """What a search looks through."""


class FigureView(NamedTuple):
    """One figure and its claims."""

    name: str
    """What the claims call it."""
    text: FigureText
    """What is said of it."""
    own: bool
    """Whether it is drawn under another name than that of the paper's figure."""
    picture: Picture
    """It."""
    alternative: str
    """What is to be seen and what came of its claims, for those who do not see it."""
    table: Table
    """Its numbers."""
    seconds: str | None
    """Run time of everything that it was made by."""
    command: str
    """What rebuilds it."""
    claims: list[ClaimView]
    """Claims that it shows."""
    tally: str
    """How many of them have which verdict."""
    elsewhere: list[ClaimView]
    """Errata that it shows, which have a section of their own."""


class Group(NamedTuple):
    """Claims that no figure shows."""

    title: str
    """What they have in common."""
    claims: list[ClaimView]
    """They."""


class Count(NamedTuple):
    """How many claims have one verdict."""

    outcome: Outcome
    """Which."""
    meaning: str
    """What it means."""
    number: int
    """How many."""
    errata: int
    """How many of them are errata or findings."""


def claim_views(
    registry: Registry, verdicts: Sequence[Verdict], figures: Iterable[str]
) -> list[ClaimView]:
    """Every claim of the registry, in its order.

    Raises:
        InputError: if a claim that has a test has no verdict, or a verdict no such claim.
    """
    drawn = set(figures)
    found = {verdict.claim: verdict for verdict in verdicts}
    tested = {claim.id for claim in registry.claims if claim.test}
    if len(found) < len(verdicts):
        raise InputError("two verdicts are of the same claim; give one per claim")
    if missing := sorted(tested - found.keys()):
        raise InputError(f"there is no verdict of claim(s) {', '.join(missing)}; judge them first")
    if unknown := sorted(found.keys() - tested):
        raise InputError(
            f"the registry has no claim(s) {', '.join(unknown)} with a test; delete the verdict(s)"
        )
    return [_claim_view(claim, found.get(claim.id), drawn) for claim in registry.claims]


def figure_view(
    source: FigureSource,
    text: FigureText,
    picture: Picture,
    table: Table,
    seconds: float | None,
    claims: Sequence[ClaimView],
) -> FigureView:
    """One figure with those of all claims that it shows."""
    shown = [view for view in claims if view.figure == source.name]
    own = [view for view in shown if not is_erratum(view.claim)]
    tally = (f"{count.number} {count.outcome}" for count in counts(own) if count.number)
    outcomes = "; ".join(f"{view.claim.id} {view.outcome}" for view in shown)
    return FigureView(
        name=source.name,
        text=text,
        own=source.name != source.drawing,
        picture=picture,
        alternative=f"{text.label}. {text.drawn} Claims: {outcomes or 'none'}.",
        table=table,
        seconds=None if seconds is None else number(seconds, 2),
        command=source.command,
        claims=own,
        tally=", ".join(tally),
        elsewhere=[view for view in shown if is_erratum(view.claim)],
    )


def groups(claims: Sequence[ClaimView]) -> list[Group]:
    """Claims without a drawn figure, by the kind of place where the paper states them."""
    found: dict[str, list[ClaimView]] = {}
    for view in claims:
        if not view.figure and not is_erratum(view.claim):
            found.setdefault(_kind_of_place(view.claim.where), []).append(view)
    return [Group(title, views) for title, views in found.items()]


def counts(claims: Sequence[ClaimView]) -> list[Count]:
    """How many claims have each verdict, in the order of `OUTCOMES`."""
    found = []
    for outcome, meaning in OUTCOMES.items():
        views = [view for view in claims if view.outcome == outcome]
        errata = sum(is_erratum(view.claim) for view in views)
        found.append(Count(outcome, meaning, len(views), errata))
    return found


def is_erratum(claim: Claim) -> bool:
    """Whether it is an erratum or a finding and not a claim."""
    return claim.kind != "claim"


def _claim_view(claim: Claim, verdict: Verdict | None, drawn: set[str]) -> ClaimView:
    comparisons = verdict.comparisons if verdict else []
    outcome: Outcome = verdict.verdict if verdict else "not tested"
    summary = f"{verdict.summary}." if verdict else str(claim.not_tested)
    texts = (
        claim.id,
        claim.statement,
        claim.where,
        outcome,
        summary,
        claim.note or "",
        claim.figure or "",
    )
    plain = " ".join(texts)
    return ClaimView(
        claim=claim,
        outcome=outcome,
        summary=summary,
        seeds=verdict.seeds if verdict else 0,
        comparisons=comparisons,
        plot=forest(comparisons) if comparisons else None,
        ours=_ours(comparisons),
        axis=_axis(claim.test) if claim.test else "",
        judged=_judged(claim.test) if claim.test else "",
        figure=claim.figure if claim.figure in drawn else "",
        search=f"{plain} {typeset(plain).striptags()}".lower(),
    )


def _ours(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return ""
    estimates = [item.estimate for item in comparisons]
    least, largest = number(min(estimates)), number(max(estimates))
    return least if least == largest else f"{least} to {largest} in {len(estimates)} comparisons"


def _axis(test: Test) -> str:
    match test:
        case Bounds():
            return "value"
        case Published():
            return "ours minus published"
        case Prediction():
            return "our mean minus the published one; the range is what our seeds predict"
        case Interval():
            quantity = "mean over seeds"
        case Trend():
            quantity = "change from the first to the last level, mean over seeds"
        case Equivalence():
            quantity = "our mean minus the paper's"
    return f"{quantity}, with its {1 - test.level:.0%} interval"


def _judged(test: Test) -> str:
    """The test in words."""
    match test:
        case Bounds():
            return f"Every computed value must be {_range(test.lower, test.upper)}."
        case Published():
            return f"Every value must equal the published one within {number(test.tolerance)}."
        case Interval():
            told = f"the mean over seeds must be {_range(test.lower, test.upper)} (t tests)"
            seen = "a mean {} standard deviations of one seed inside the bound"
        case Trend():
            told = (
                f"the value must {test.direction.removesuffix('s')} along the levels (exact"
                " permutations within seeds)"
            )
            seen = "a change by {} standard deviations of one seed"
        case Equivalence():
            told = (
                f"our mean must equal the paper's within {number(test.margin)} standard deviations"
                " of one seed (two one-sided Welch tests)"
            )
            seen = "a difference of 0"
        case Prediction():
            told = "the paper's mean must lie in the prediction interval of our seeds"
            seen = "a difference of 0"
    power = test.power
    return (
        f"In every cell {told}, at level {number(test.level)} for all tests of a family together"
        f" (Holm). With {power.seeds} seeds and {power.comparisons} comparisons"
        f" {seen.format(number(power.effect))} passes with probability {number(power.probability)}."
    )


def _range(lower: float | None, upper: float | None) -> str:
    parts = [
        f"at least {number(lower)}" if lower is not None else "",
        f"at most {number(upper)}" if upper is not None else "",
    ]
    return " and ".join(part for part in parts if part)


def _kind_of_place(where: str) -> str:
    """Lemmas for 'Lemma 3' and for 'Lemmas 3 and 5'."""
    match = re.match(r"[A-Za-z]+", where)
    word = match[0].removesuffix("s") if match else "Other place"
    return _PLURALS.get(word, f"{word}s")
