"""Does what an abstract says hold? Its sentences, with marks that follow from their claims."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replication.registry import Abstract, Mark, Sentence
from replication.verification.judgement import HOLDING, Outcome, sum_up


class Marked(NamedTuple):
    """A sentence of an abstract with what came of it."""

    sentence: Sentence
    """The sentence."""
    mark: Mark
    """Whether it holds."""


MARKS: dict[Mark, str] = {
    "holds": "all claims that decide it hold",
    "in part": "some of the claims that decide it hold, or hold in part",
    "does not hold": "no claim that decides it holds, not even in part; one or more do not hold",
    "open": "the seeds do not suffice to tell, in any claim that decides it",
    "not tested": "it is not judged here; the reason is given",
    "no empirical statement": "it says nothing that an experiment or a proof could decide",
}
"""What each mark means."""


def mark(verdicts: Sequence[Outcome]) -> Mark:
    """Return whether a sentence holds, given the verdicts on the claims that decide it.

    The rule by which comparisons make a verdict, `sum_up`: of claims that hold in part, some
    comparisons hold and others do not. A claim that is not tested counts as undecided, unless none
    is tested.

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
    abstract: Abstract, verdicts: Mapping[str, Outcome], elsewhere: Mapping[str, Mark]
) -> list[Marked]:
    """Return the sentences of an abstract, in order, with their marks.

    Args:
        abstract: of a registry.
        verdicts: by number of the claim; claims without one are not tested.
        elsewhere: marks by the words of sentences that the paper's other study decides; those
            without one are not tested here.
    """
    return [Marked(each, _mark(each, verdicts, elsewhere)) for each in abstract.sentences]


def _mark(
    sentence: Sentence, verdicts: Mapping[str, Outcome], elsewhere: Mapping[str, Mark]
) -> Mark:
    if sentence.mark is not None:
        return sentence.mark
    if sentence.study is not None:
        return elsewhere.get(sentence.words, "not tested")
    return mark([verdicts.get(claim, "not tested") for claim in sentence.claims])
