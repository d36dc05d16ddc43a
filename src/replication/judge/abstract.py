"""Does what an abstract says hold? Its sentences, with marks that follow from their claims."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from replication.base.markdown import Markdown, inert, table
from replication.judge.judgement import HOLDING, Outcome, Verdict, sum_up
from replication.study.registry import UNJUDGED, Abstract, Claim, Mark, Registry, Sentence

SentenceText = str
"""Of a sentence."""
Link = Callable[[str, str | None], str]
"""Makes Markdown of a claim's number, and of the study that judges it if that is another one."""
WORDS_DIFFER = ", where its words are others"
"""After a version of which only those sentences are shown that no earlier one has."""


class MarkedSentence(NamedTuple):
    """A sentence of an abstract with what came of it."""

    sentence: Sentence
    """The sentence."""
    mark: Mark | None
    """Whether it holds; none if another study decides it whose verdicts are not at hand."""
    verdicts: list[Verdict]
    """On the claims that decide it, in their order."""
    scales: list[str]
    """At which those about training are judged, each once."""
    notes: Mapping[str, str] = MappingProxyType({})
    """What else is said of a claim beside its number."""

    @property
    def claims_with_remarks(self) -> list[tuple[str, str]]:
        """Each claim with what is said of it, nothing of one that simply holds."""
        return [
            (each.claim, "; ".join(filter(None, [_unless_holding(each), self.notes[each.claim]])))
            for each in self.verdicts
        ]


MARKS: dict[Mark, str] = {
    "holds": "all claims that decide the sentence hold",
    "in part": "some of the claims that decide it hold, or hold in part",
    "does not hold": "no claim that decides it holds, not even in part; one or more do not hold",
    "open": "the seeds do not suffice to tell, in any claim that decides it",
    "not tested": "it is not judged here; the reason is given",
    "no empirical statement": "it says nothing that an experiment or a proof could decide",
}
"""What each mark means."""


def joint_mark(verdicts: Sequence[Outcome]) -> Mark:
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


def mark_sentences(
    registry: Registry,
    abstract: Abstract,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> list[MarkedSentence]:
    """Return the sentences of an abstract, in order, with their marks.

    Args:
        registry: of the paper.
        abstract: one of the registry's.
        verdicts: by number of the claim; claims without one are not tested.
        elsewhere: what came of sentences that the paper's other study decides.
    """
    return [_marked(registry, sentence, verdicts, elsewhere) for sentence in abstract.sentences]


def _marked(
    registry: Registry,
    sentence: Sentence,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence],
) -> MarkedSentence:
    if sentence.study is not None:
        found = elsewhere.get(sentence.words, MarkedSentence(sentence, None, [], []))
        return found._replace(sentence=sentence)
    deciding = {
        claim: verdicts.get(claim) or Verdict.without_evidence(claim, "not judged")
        for claim in sentence.claims
    }
    claims = [claim for claim in registry.claims if claim.id in deciding]
    scales = dict.fromkeys(
        registry.scale_of(claim, deciding[claim.id].seeds)
        for claim in claims
        if deciding[claim.id].comparisons
    )
    return MarkedSentence(
        sentence,
        sentence.mark or joint_mark([each.verdict for each in deciding.values()]),
        [*deciding.values()],
        [*filter(None, scales)],
        {claim.id: _note(claim) for claim in claims},
    )


def _note(claim: Claim) -> str:
    said = ("declared late" * claim.declared_late, "the authors answer" * bool(claim.answer))
    return "; ".join(filter(None, said))


def decided_sentences(
    papers: Iterable[tuple[Registry, Mapping[str, Verdict]]],
) -> dict[SentenceText, MarkedSentence]:
    """Return what came of the sentences that studies decide themselves, for those that name them.

    Args:
        papers: registry and verdicts of every study.
    """
    return {
        found.sentence.words: found
        for registry, verdicts in papers
        for abstract in registry.abstracts
        for found in mark_sentences(registry, abstract, verdicts)
        if found.sentence.study is None
    }


def abstract_lines(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
    link: Link = lambda claim, _: inert(claim),
) -> list[str]:
    """Return a paper's abstract as Markdown, a table for every version, see `sentences_by_version`.

    Marks on training have the number of the scale at which they were judged, which is told below;
    before it, what is shown for robustness alone.

    Args:
        registry: of the paper.
        verdicts: as `mark_sentences` takes them.
        elsewhere: likewise.
        link: makes of a claim what is shown.
    """
    lines = [line for rule in registry.rules_of_robustness for line in (inert(rule), "")]
    for version, found in sentences_by_version(registry, verdicts, elsewhere).items():
        scales = [*dict.fromkeys(scale for each in found for scale in each.scales)]
        rows = [
            (without_latex(each.sentence.words), _strong(each, scales), deciding_claims(each, link))
            for each in found
        ]
        lines += [*table((f"the abstract of {version}", "", "decided by"), rows), ""]
        lines += _below(scales, registry.scale_of_paper)
    return lines


def sentences_by_version(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, list[MarkedSentence]]:
    """Return what came of the sentences of each version that no earlier one has.

    Arguments as `abstract_lines`; where a version repeats sentences, its name says so.
    """
    parts: dict[str, list[MarkedSentence]] = {}
    seen: list[Sentence] = []
    for abstract in registry.abstracts:
        found = mark_sentences(registry, abstract, verdicts, elsewhere)
        new = [each for each in found if each.sentence not in seen]
        parts[abstract.version + WORDS_DIFFER * (len(new) < len(found))] = new
        seen += abstract.sentences
    return parts


def _strong(found: MarkedSentence, scales: list[str]) -> str:
    word = found.mark or "judged there"
    numbers = ", ".join(str(scales.index(scale) + 1) for scale in found.scales)
    strong = f"**{word}**" if word not in UNJUDGED else word
    return Markdown(strong + (f" <sup>{numbers}</sup>" if numbers else ""))


def without_latex(words: SentenceText) -> str:
    """Return the words of a sentence without the marks of LaTeX around some of them."""
    return re.sub(r"\\(?:emph|url){([^{}]*)}", r"\1", words)


def _below(scales: list[str], of_paper: str) -> list[str]:
    """What the numbers at the marks say.

    Args:
        scales: in the order of their numbers.
        of_paper: that of the paper, if others are smaller.
    """
    if not scales:
        return []
    told = "; ".join(f"<sup>{at}</sup> {inert(scale)}" for at, scale in enumerate(scales, 1))
    return [f"Judged at this scale: {told}. {inert(_capital(of_paper))}".strip(), ""]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def deciding_claims(found: MarkedSentence, link: Link) -> str:
    """Return the claims that decide a sentence, and how much of each holds, or why none does."""
    if found.sentence.why:
        return found.sentence.why
    study = found.sentence.study
    if not found.verdicts:
        return f"see {study}"
    return Markdown(
        ", ".join(
            link(claim, study) + (f" ({inert(words)})" if words else "")
            for claim, words in found.claims_with_remarks
        )
    )


def _unless_holding(verdict: Verdict) -> str:
    return "" if verdict.verdict in HOLDING else short_verdict(verdict)


def short_verdict(verdict: Verdict) -> str:
    """Return a verdict in a few words: in part, 4 of 6 hold."""
    counted = verdict.counted
    if len(counted) < 2 or verdict.verdict in HOLDING:
        return verdict.verdict
    return f"{verdict.verdict}, {verdict.holding} of {len(counted)} hold"


def count_marks(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, dict[Mark, int]]:
    """Return how many sentences of each version have each mark; arguments as `abstract_lines`."""
    found = {}
    for abstract in registry.abstracts:
        marks = Counter(
            each.mark for each in mark_sentences(registry, abstract, verdicts, elsewhere)
        )
        found[abstract.version] = {name: marks[name] for name in MARKS}
    return found
