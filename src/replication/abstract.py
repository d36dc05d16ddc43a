"""Does what an abstract says hold? Its sentences, with marks that follow from their claims."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from replication.markdown import Markdown, table
from replication.registry import UNJUDGED, Abstract, Mark, Registry, Sentence
from replication.verification.judgement import HOLDING, Outcome, Verdict, sum_up

Words = str
"""Of a sentence."""


class Marked(NamedTuple):
    """A sentence of an abstract with what came of it."""

    sentence: Sentence
    """The sentence."""
    mark: Mark | None
    """Whether it holds; none if another study decides it whose verdicts are not at hand."""
    verdicts: list[Verdict]
    """On the claims that decide it, in their order."""


MARKS: dict[Mark, str] = {
    "holds": "all claims that decide the sentence hold",
    "in part": "some of the claims that decide it hold, or hold in part",
    "does not hold": "no claim that decides it holds, not even in part; one or more do not hold",
    "open": "the seeds do not suffice to tell, in any claim that decides it",
    "not tested": "it is not judged here; the reason is given",
    "no empirical statement": "it says nothing that an experiment or a proof could decide",
}
"""What each mark means."""


def mark(verdicts: Sequence[Outcome]) -> Mark:
    """Return whether a sentence holds, given the verdicts on the claims that decide it.

    This is the rule by which comparisons make a verdict, `sum_up`. A claim that holds in part has
    comparisons that hold and others that do not. A claim that is not tested counts as undecided,
    unless none is tested.

    Args:
        verdicts: one for each claim, at least one.
    """
    if {*verdicts} == {"not tested"}:
        return "not tested"
    in_part = verdicts.count("in part")
    return sum_up(
        sum(each in HOLDING for each in verdicts) + in_part,
        verdicts.count("does not hold"),
        in_part + verdicts.count("open") + verdicts.count("not tested"),
    )


def marked(
    abstract: Abstract,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[Words, Marked] = MappingProxyType({}),
) -> list[Marked]:
    """Return the sentences of an abstract, in order, with their marks.

    Args:
        abstract: of a registry.
        verdicts: by number of the claim; claims without one are not tested.
        elsewhere: what came of sentences that the paper's other study decides.
    """
    return [_marked(sentence, verdicts, elsewhere) for sentence in abstract.sentences]


def _marked(
    sentence: Sentence, verdicts: Mapping[str, Verdict], elsewhere: Mapping[Words, Marked]
) -> Marked:
    if sentence.study is not None:
        found = elsewhere.get(sentence.words)
        return Marked(sentence, found.mark if found else None, found.verdicts if found else [])
    deciding = [
        verdicts.get(claim) or Verdict.without_evidence(claim, "not judged")
        for claim in sentence.claims
    ]
    return Marked(sentence, sentence.mark or mark([each.verdict for each in deciding]), deciding)


def decided_elsewhere(
    papers: Iterable[tuple[Registry, Mapping[str, Verdict]]],
) -> dict[Words, Marked]:
    """Return what came of the sentences that studies decide themselves, for those that name them.

    Args:
        papers: registry and verdicts of every study.
    """
    return {
        found.sentence.words: found
        for registry, verdicts in papers
        for abstract in registry.abstracts
        for found in marked(abstract, verdicts)
        if found.sentence.claims
    }


def to_lines(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[Words, Marked] = MappingProxyType({}),
) -> list[str]:
    """Return a paper's abstract as Markdown, a table for every version; arguments as `marked`."""
    lines: list[str] = []
    for abstract in registry.abstracts:
        rows = [
            (each.sentence.words, _strong(each), decided_by(each))
            for each in marked(abstract, verdicts, elsewhere)
        ]
        lines += [*table((f"the abstract of {abstract.version}", "", "decided by"), rows), ""]
    return lines


def _strong(found: Marked) -> str:
    word = found.mark or f"see {found.sentence.study}"
    return Markdown(f"**{word}**" if word not in UNJUDGED else word)


def decided_by(found: Marked) -> str:
    """Return the claims that decide a sentence, and how much of each holds, or why none does."""
    if found.sentence.why:
        return found.sentence.why
    told = (
        each.claim if each.verdict in HOLDING else f"{each.claim} ({said(each)})"
        for each in found.verdicts
    )
    return ", ".join([*told, *([found.sentence.study] if found.sentence.study else [])])


def said(verdict: Verdict) -> str:
    """Return a verdict in a few words: in part, 4 of 6 hold."""
    counted = verdict.counted
    if len(counted) < 2 or verdict.verdict in HOLDING:
        return verdict.verdict
    return f"{verdict.verdict}, {verdict.holding} of {len(counted)} hold"
