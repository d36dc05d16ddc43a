"""Claims and verdicts in the words and the order of the page."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from replication.base.errors import InputError
from replication.figures.typeset import number
from replication.judge.verdicts import (
    NOT_HOLDING,
    OUTCOMES,
    PROBABILITY,
    Comparison,
    Outcome,
    Verdict,
)
from replication.judge.wording import (
    estimate_and_range,
    how_much,
    least_favourable,
    least_favourable_first,
    range_in_words,
)
from replication.report.forest import Plot, forest_plot
from replication.study.claims import (
    ERRATA,
    GROUPS,
    SHOWN,
    THEORY,
    Bounds,
    Claim,
    Equivalence,
    Interval,
    Published,
    Test,
)
from replication.study.registry import Registry

MOST_SHOWN = 100
"""Largest number of a claim's comparisons that a page shows; all are in the table beside it."""
_PLURALS = {
    "Appendix": "Appendices",
    "Corollary": "Corollaries",
    "Corollarie": "Corollaries",
    "Eq": "Equations",
    "Figure": "Figures that are not drawn here",
}


_SINGULARS = {"Eq": "Eq.", "Corollar": "Corollary", "Appendice": "Appendix"}


class ClaimInShort(NamedTuple):
    """A claim and its verdict in a line."""

    id: str
    """Number of the claim."""
    verdict: Outcome
    """Verdict on the claim."""
    words: str
    """Headline of the claim, or else its statement."""
    quantity: str
    """Measured quantity, with its unit."""
    how_much: str
    """Number of the comparisons that hold, and the decisions of the others, in words."""
    found: str
    """Least favourable estimate, with its interval."""
    needed: str
    """Range in which the least favourable estimate has to lie."""


class ClaimView(NamedTuple):
    """One claim and its verdict, in the words of the page."""

    claim: Claim
    """Entry of the claim in the registry."""
    verdict: Verdict
    """Verdict on the claim."""
    summary: str
    """The verdict in one sentence, or the reason why there is none."""
    ours: str
    """The estimate, or the range of estimates."""
    axis: str
    """Quantity on the axis of the plot."""
    judged: str
    """Test of the claim in words."""
    scale: str
    """Scale at which a claim about training is judged; empty for other claims."""
    figure: str
    """Figure that the claim is shown with; empty if the figure is not drawn."""
    about: int
    """Place of the claim's group in `GROUPS`."""
    found: str
    """Least favourable estimate, with its interval."""
    order: str
    """Least favourable estimate as JavaScript reads it, for sorting; infinite if there is none."""
    needed: str
    """Range in which the least favourable estimate has to lie."""
    search: str
    """Text that a search looks through."""
    at_paper_scale: str
    """Verdict at the paper's scale in words; empty if no such run is kept."""

    @property
    def words(self) -> str:
        """Words that tell the claim wherever the page does: its headline, or else its statement."""
        return self.claim.headline or self.claim.statement

    @property
    def how_much(self) -> str:
        """Number of the comparisons that hold, and the decisions of the others, in words."""
        return how_much(self.verdict.comparisons)

    @property
    def shown(self) -> list[Comparison]:
        """Comparisons that the page shows, in their order: all, or else the least favourable."""
        comparisons = self.verdict.comparisons
        if len(comparisons) <= MOST_SHOWN:
            return list(comparisons)
        kept = {id(item) for item in least_favourable_first(comparisons)[:MOST_SHOWN]}
        return [item for item in comparisons if id(item) in kept]

    @property
    def plot(self) -> Plot | None:
        """Plot of the evidence that is shown, drawn anew each time; none without evidence."""
        return forest_plot(self.shown) if self.verdict.comparisons else None


def claim_views(
    registry: Registry, verdicts: Sequence[Verdict], drawn: Mapping[str, str]
) -> list[ClaimView]:
    """Return a view of every claim of the registry, in its order.

    Args:
        registry: the study's.
        verdicts: one on each claim that has a test.
        drawn: labels of the figures that the page shows, by name.

    Raises:
        InputError: if a claim that has a test has no verdict, or a verdict no such claim.
    """
    found = {verdict.claim: verdict for verdict in verdicts}
    tested = {claim.id for claim in registry.claims if claim.test}
    if missing := sorted(tested - found.keys()):
        raise InputError(f"there is no verdict of claim(s) {', '.join(missing)}; judge them first")
    if unknown := sorted(found.keys() - tested):
        raise InputError(
            f"the registry has no claim(s) {', '.join(unknown)} with a test; delete the verdict(s)"
        )
    return [_claim_view(registry, claim, found.get(claim.id), drawn) for claim in registry.claims]


def contested_claims(claims: Sequence[ClaimView]) -> list[ClaimInShort]:
    """Return the paper's own claims that hold in part, do not hold, or are open."""
    return [_in_short(view) for view in claims if _is_contested(view)]


def headline_claims(claims: Sequence[ClaimView]) -> list[ClaimInShort]:
    """Return the claims that stand for the others, without those that are contested."""
    return [_in_short(view) for view in claims if view.claim.headline and not _is_contested(view)]


def _is_contested(view: ClaimView) -> bool:
    return view.claim.group in {SHOWN, THEORY} and view.verdict.verdict in NOT_HOLDING


def _in_short(view: ClaimView) -> ClaimInShort:
    return ClaimInShort(
        id=view.claim.id,
        verdict=view.verdict.verdict,
        words=view.words,
        quantity=view.claim.quantity or "",
        how_much=view.how_much,
        found=view.found,
        needed=view.needed,
    )


def verdict_counts(claims: Sequence[ClaimView]) -> dict[int, dict[Outcome, int]]:
    """Return the number of claims by place in `GROUPS` and verdict; groups without claims lack."""
    found = Counter((view.about, view.verdict.verdict) for view in claims)
    return {
        about: {name: found[about, name] for name in OUTCOMES}
        for about in sorted({view.about for view in claims})
    }


def figure_of(claim: Claim, kinds: Mapping[str, str]) -> str | None:
    """Return the figure that a claim is shown at: the one that it names, or the first of that kind.

    Args:
        claim: the claim; it keeps the name that it has if there is no such figure.
        kinds: kind of each figure by its name, in the order of the configuration.
    """
    if claim.figure in kinds:
        return claim.figure
    return next((name for name, kind in kinds.items() if kind == claim.figure), claim.figure)


def in_order_of_paper(labels: Mapping[str, str]) -> list[str]:
    """Return names of figures as the paper has them: figures, tables, its appendix; then ours.

    Args:
        labels: labels of the figures, by name: Figure 2a, Tables 2 and 9, Figure S.1.
    """
    return sorted(labels, key=lambda name: _place_in_paper(labels[name]))


def _place_in_paper(label: str) -> tuple[int, int, str]:
    """Return what a label is sorted by; labels that are not the paper's keep their order."""
    match = re.match(r"(Fig(?:ure)?|Table)s?\.? ([A-Z]\.?)?(\d+)(\w*)", label)
    if not match:
        return 4, 0, ""
    kind = 2 * bool(match[2]) + (match[1] == "Table")
    return kind, int(match[3]), match[4]


def claims_by_place(claims: Sequence[ClaimView]) -> dict[str, list[ClaimView]]:
    """Return the claims without a drawn figure, by the kind of place that states them."""
    found: dict[str, list[ClaimView]] = {}
    for view in claims:
        if not view.figure and view.claim.kind == "claim":
            found.setdefault(_kind_of_place(view.claim.where), []).append(view)
    return found


def _claim_view(
    registry: Registry, claim: Claim, judged: Verdict | None, drawn: Mapping[str, str]
) -> ClaimView:
    summary = f"{judged.summary}." if judged else str(claim.not_tested)
    verdict = judged or Verdict.without_evidence(claim.id, summary)
    label = drawn.get(claim.figure or "", "")
    named = f"Erratum {claim.id.lstrip('E')}" if claim.group == ERRATA else ""
    places = " ".join([claim.where, *_places(claim.where), label, named])
    texts = (claim.id, claim.statement, places, verdict.verdict, summary, claim.headline or "")
    comparisons = verdict.comparisons
    found, needed = estimate_and_range(comparisons, number)
    plain = " ".join([*texts, claim.quantity or "", claim.note or "", claim.figure or ""])
    return ClaimView(
        claim=claim,
        verdict=verdict,
        summary=summary,
        ours=_estimates(comparisons),
        axis=_axis(claim.test) if claim.test else "",
        judged=_test_in_words(claim.test, verdict) if claim.test else "",
        scale=registry.scale_of(claim, verdict.seeds) if judged else "",
        figure=claim.figure if claim.figure and label else "",
        about=GROUPS.index(claim.group),
        found=found,
        order=str(least_favourable(comparisons).estimate) if comparisons else "Infinity",
        needed=needed,
        search=_add_synonyms(plain, registry.synonyms),
        at_paper_scale=registry.at_paper_scale.get(claim.id, ""),
    )


def _add_synonyms(text: str, groups: Sequence[Sequence[str]]) -> str:
    """Return a text, and the words that mean the same as some of its words."""
    found = text.lower()
    for group in groups:
        words = [word.lower() for word in group]
        if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", found) for word in words):
            found = " ".join([found, *words])
    return found


def _estimates(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return ""
    least, largest = (number(pick(item.estimate for item in comparisons)) for pick in (min, max))
    return least if least == largest else f"{least} to {largest} in {len(comparisons)} comparisons"


def _axis(test: Test) -> str:
    match test:
        case Bounds():
            return "value"
        case Published():
            return "ours minus published"
        case Interval():
            quantity = f"{test.center} over seeds"
        case Equivalence():
            quantity = "our mean minus the paper's"
    return f"{quantity}, with the interval by which it is decided"


def _test_in_words(test: Test, verdict: Verdict) -> str:
    """Return the test in words."""
    match test:
        case Bounds():
            return f"Every computed value must be {range_in_words(test.lower, test.upper, number)}."
        case Published():
            return f"Every value must equal the published one within {number(test.tolerance)}."
        case Interval():
            tests = "t tests" if test.center == "mean" else "sign tests"
            needed = range_in_words(test.lower, test.upper, number)
            condition = f"the {test.center} over seeds must be {needed} ({tests})"
            if test.smallest_effect:
                condition += (
                    f", by {number(test.smallest_effect)} or more, the smallest that matters"
                )
        case Equivalence():
            condition = (
                f"our mean must equal the paper's within {number(test.margin)} standard deviations"
                " of one seed (two one-sided Welch tests)"
            )
    judged = (
        f"In every comparison {condition}, at level {number(test.level)} for all claims of a family"
        " together."
    )
    if verdict.resolution is None:
        return judged
    return (
        f"{judged} With {verdict.seeds} seeds all {len(verdict.counted)} comparisons pass"
        f" together with probability {number(PROBABILITY)} if the means lie"
        f" {number(verdict.resolution)} standard deviations of one seed inside the range."
    )


def _kind_of_place(where: str) -> str:
    """Return the kind of a place: Lemmas for 'Lemma 3' and for 'Lemmas 3 and 5'."""
    match = re.match(r"[A-Za-z]+", where)
    word = match[0].removesuffix("s") if match else "Other place"
    return _PLURALS.get(word, f"{word}s")


def _places(where: str) -> Iterator[str]:
    """Yield each of several places by its own name: Lemma 3, Lemma 5 for 'Lemmas 3 and 5'."""
    for match in re.finditer(
        r"([A-Z][a-z]+?)(?:ie)?s?\.? (\d\w*(?:(?:, and |, | and |-)\d\w*)+)", where
    ):
        kind = _SINGULARS.get(match[1], match[1])
        ends = [(int(a), int(b)) for a, b in re.findall(r"\b(\d+)-(\d+)\b", match[2])]
        within = (str(n) for first, last in ends for n in range(first, last + 1))
        for name in dict.fromkeys([*re.findall(r"\d\w*", match[2]), *within]):
            yield f"{kind} {name}"
