"""Marks of an abstract's sentences: whether they hold, as the verdicts on their claims say."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from replication.base.errors import InputError
from replication.base.markdown import Markdown, escape_markdown, table
from replication.judge.citation import fill_template, verdict_finder
from replication.judge.judgement import sum_up
from replication.judge.verdicts import HOLDING, Outcome, Verdict
from replication.judge.wording import DECLARED_LATE, short_verdict
from replication.study.registry import (
    UNJUDGED,
    Abstract,
    Departure,
    Mark,
    Registry,
    Sentence,
    merge_departures,
    without_latex,
)

SentenceText = str
"""The words of a sentence."""
Link = Callable[[str, str | None], str]
"""Maker of Markdown from a claim's number, and from the study that judges it if not this one."""
ERRATA_BESIDE = "Errata that touch it:"
"""Words before the errata of a sentence."""
DEPARTS_IN = "Departs from the paper in"
"""Words before a departure in the regime."""
OTHER_SCALE = "Settings of scale that are not the paper's:"
"""Words before departures in scale."""
LONGEST_LINE = 12
"""Largest number of words of a plain line."""
REST_OPEN = ", the rest is open"
"""Remark on a sentence, see `MarkedSentence.is_rest_open`."""


class MarkedSentence(NamedTuple):
    """A sentence of an abstract with its mark."""

    sentence: Sentence
    """Sentence of the abstract."""
    mark: Mark | None
    """Mark of the sentence; none if another study decides it, and its verdicts are not at hand."""
    verdicts: list[Verdict]
    """Verdicts on the claims that decide the sentence, in the order of the claims."""
    scales: list[str]
    """Scales at which the claims about training are judged, each once."""
    notes: Mapping[str, str] = MappingProxyType({})
    """Remarks on a claim, by its number: declared late, or answered by the authors."""
    plain: str = ""
    """Finding in a few words; empty if the sentence has none, or verdicts that it cites lack."""
    errata: Sequence[Verdict] = ()
    """Verdicts on the errata that touch the sentence and do not decide it."""
    departures: Sequence[Departure] = ()
    """Settings in which the deciding runs depart from the paper's."""
    at_paper_scale: str = ""
    """Mark at the paper's scale in words; empty if no such run is kept."""

    @property
    def departures_in_regime(self) -> list[tuple[Departure, str]]:
        """Departures, each with the reason why the sentence does not depend on it."""
        reasons = self.sentence.departs
        return [(each, reasons.get(each.setting, "")) for each in self.departures if each.is_regime]

    @property
    def departures_in_scale(self) -> list[Departure]:
        """The other departures."""
        return [each for each in self.departures if not each.is_regime]

    @property
    def claims_with_remarks(self) -> list[tuple[str, str]]:
        """Numbers of the claims with remarks; a claim that simply holds has the empty remark."""
        remarks = (
            ("" if each.verdict in HOLDING else short_verdict(each), self.notes[each.claim])
            for each in self.verdicts
        )
        return [
            (each.claim, "; ".join(filter(None, parts)))
            for each, parts in zip(self.verdicts, remarks, strict=True)
        ]

    @property
    def is_rest_open(self) -> bool:
        """True if the sentence holds in part, and everything else behind it is open."""
        decisions = {each.decision for verdict in self.verdicts for each in verdict.counted}
        is_tested = all(each.comparisons for each in self.verdicts)
        return self.mark == "in part" and is_tested and decisions == {"holds", "open"}


MARKS: dict[Mark, str] = {
    "holds": "all claims that decide the sentence hold",
    "in part": "some of the claims that decide it hold, or hold in part",
    "does not hold": "no claim that decides it holds, not even in part; one or more do not hold",
    "open": "the seeds do not suffice to tell, in any claim that decides it",
    "not tested": "it is not judged here; the reason is given",
    "no empirical statement": "it says nothing that an experiment or a proof could decide",
}
"""Meaning of each mark."""


def joint_mark(verdicts: Sequence[Outcome]) -> Mark:
    """Return the mark of a sentence, given the verdicts on the claims that decide it, at least one.

    This is the rule by which comparisons make a verdict, `sum_up`. A claim that holds in part has
    comparisons that hold and others that do not. A claim that is not tested counts as undecided,
    unless none is tested.
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
    """Return the sentences of one of the registry's abstracts, in order, with their marks.

    Verdicts are given by number of the claim; claims without one are not tested. `elsewhere` has
    marked sentences that the paper's other study decides, by their words. The functions below take
    the same.
    """
    return [_mark_sentence(registry, each, verdicts, elsewhere) for each in abstract.sentences]


def _mark_sentence(
    registry: Registry,
    sentence: Sentence,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence],
) -> MarkedSentence:
    if sentence.study is not None:
        found = elsewhere.get(sentence.words, MarkedSentence(sentence, None, [], []))
        reasons = {"departs": found.sentence.departs, "why": found.sentence.why}
        return found._replace(sentence=sentence.model_copy(update=reasons))
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
    notes = {
        claim.id: "; ".join(
            [DECLARED_LATE] * claim.declared_late + ["the authors answer"] * bool(claim.answer)
        )
        for claim in claims
    }
    return MarkedSentence(
        sentence,
        sentence.mark or joint_mark([each.verdict for each in deciding.values()]),
        [*deciding.values()],
        [*filter(None, scales)],
        notes,
        plain_line(sentence.plain, sentence.words, verdicts),
        [
            verdicts.get(each) or Verdict.without_evidence(each, "no test")
            for each in sentence.errata
        ],
        registry.departures_of(sentence),
        registry.at_paper_scale.get(sentence.words, ""),
    )


def refuse_long_lines(study: str, registry: Registry, verdicts: Mapping[str, Verdict]) -> None:
    """Refuse a plain line that cites a missing verdict, or has more than `LONGEST_LINE` words."""
    for sentence in registry.sentences_with_marks:
        where = f"{study}: registry.yaml: abstracts: '{sentence.words}': plain"
        filled = _fill_line(sentence.plain, where, verdicts)
        if len(filled.split()) > LONGEST_LINE:
            raise InputError(f"{where}: has more than {LONGEST_LINE} words: {filled}")


def plain_line(text: str | None, words: str, verdicts: Mapping[str, Verdict]) -> str:
    """Return a sentence's plain line; nothing if it has none, or cites verdicts that are missing.

    `text` is `Sentence.plain`, and `words` are those of the sentence.
    """
    # Under other settings a claim may have other comparisons than the line cites, or none.
    with suppress(InputError):
        return _fill_line(text, words, verdicts)
    return ""


def _fill_line(text: str | None, where: str, verdicts: Mapping[str, Verdict]) -> str:
    known = {"verdict": verdict_finder(verdicts.get)}
    return " ".join(fill_template(text or "", where, known).split())


def decided_sentences(
    papers: Iterable[tuple[Registry, Mapping[str, Verdict]]],
) -> dict[SentenceText, MarkedSentence]:
    """Return the marked sentences that studies decide themselves, by their words.

    Other studies of the same paper name such sentences as decided there. Every study is given by
    its registry and verdicts.
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
    link: Link = lambda claim, _: escape_markdown(claim),
) -> list[str]:
    """Return a paper's abstract as Markdown, a table for every version, see `sentences_by_version`.

    The study's rules of robustness come first. A mark on training has the number of the scale at
    which it was judged; lines below the table tell the scales, and settings that depart from the
    paper's in size. The last line tells over what intervals do not generalise.
    `link` makes the Markdown that is shown for a claim.
    """
    lines = [line for rule in registry.rules_of_robustness for line in (escape_markdown(rule), "")]
    for version, found in sentences_by_version(registry, verdicts, elsewhere).items():
        scales = [*dict.fromkeys(scale for each in found for scale in each.scales)]
        rows = [
            (
                without_latex(each.sentence.words),
                _mark_in_markdown(each, scales),
                Markdown("<br>".join((deciding_claims(each, link), *_limits(each, link)))),
            )
            for each in found
        ]
        lines += [*table((f"the abstract, {version}", "", "decided by"), rows), ""]
        lines += _scale_lines(scales, registry.scale_of_paper)
        if smaller := departures_in_scale(found):
            lines += [escape_markdown(f"{OTHER_SCALE} {smaller}."), ""]
    limit = registry.limit_of_intervals
    return [*lines, escape_markdown(limit), ""] if limit else lines


def departures_in_scale(found: Iterable[MarkedSentence]) -> str:
    """Return the departures of all sentences in scale, each setting once, in words."""
    merged = merge_departures(part for each in found for part in each.departures_in_scale)
    return "; ".join(map(str, merged))


def sentences_by_version(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, list[MarkedSentence]]:
    """Return `Registry.new_sentences` with their marks."""
    return {
        version: [_mark_sentence(registry, each, verdicts, elsewhere) for each in sentences]
        for version, sentences in registry.new_sentences.items()
    }


def _mark_in_markdown(found: MarkedSentence, scales: list[str]) -> str:
    word = found.mark or "judged there"
    numbers = ", ".join(str(scales.index(scale) + 1) for scale in found.scales)
    strong = f"**{word}**" if word not in UNJUDGED else word
    strong += REST_OPEN * found.is_rest_open + (f" <sup>{numbers}</sup>" if numbers else "")
    here = f"{strong}: {escape_markdown(found.plain)}" if found.plain else strong
    return Markdown(both_scales(here, escape_markdown(found.at_paper_scale)))


def both_scales(here: str, at_paper_scale: str) -> str:
    """Return a verdict or mark, and behind it that at the paper's scale, if there is one."""
    return f"here: {here}; {at_paper_scale}" if at_paper_scale else here


def _limits(found: MarkedSentence, link: Link) -> Iterable[str]:
    """Yield the errata that touch a sentence, and departures in the regime, as Markdown."""
    if found.errata:
        named = (
            f"{link(each.claim, found.sentence.study)} (as printed: {each.verdict})"
            for each in found.errata
        )
        yield f"{ERRATA_BESIDE} {', '.join(named)}"
    for departure, reason in found.departures_in_regime:
        yield escape_markdown(f"{DEPARTS_IN} {departure}. {reason}".strip())


def _scale_lines(scales: list[str], of_paper: str) -> list[str]:
    """Return the lines that say what the numbers at the marks mean, in their order.

    The paper's scale is told where it is larger.
    """
    if not scales:
        return []
    numbered = "; ".join(
        f"<sup>{at}</sup> {escape_markdown(scale)}" for at, scale in enumerate(scales, 1)
    )
    larger = escape_markdown(of_paper[:1].upper() + of_paper[1:])
    return [f"Judged at this scale: {numbered}. {larger}".strip(), ""]


def deciding_claims(found: MarkedSentence, link: Link) -> str:
    """Return the claims that decide a sentence, and how much of each holds, or why none does."""
    why, study = found.sentence.why, found.sentence.study
    if not found.verdicts:
        return why or f"see {study}"
    claims = ", ".join(
        link(claim, study) + (f" ({escape_markdown(words)})" if words else "")
        for claim, words in found.claims_with_remarks
    )
    return Markdown(f"{escape_markdown(why)} See {claims}." if why else claims)


def count_marks(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, dict[Mark, int]]:
    """Return how many sentences of each version have each mark."""
    found = {}
    for abstract in registry.abstracts:
        marked = mark_sentences(registry, abstract, verdicts, elsewhere)
        marks = Counter(each.mark for each in marked)
        found[abstract.version] = {name: marks[name] for name in MARKS}
    return found
