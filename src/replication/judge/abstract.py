"""Marks of an abstract's sentences: whether they hold, as the verdicts on their claims say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined

from replication.base.errors import InputError
from replication.base.markdown import Markdown, escape_markdown
from replication.judge.judgement import sum_up
from replication.judge.templates import fill_template, verdict_finder
from replication.judge.verdicts import HOLDING, Outcome, Verdict
from replication.judge.wording import DECLARED_LATE, short_verdict
from replication.study.claims import Claim
from replication.study.registry import (
    UNJUDGED,
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
REST_IS_OPEN = {"holds", "open"}
"""Decisions behind such a sentence."""


class MarkedSentence(NamedTuple):
    """A sentence of an abstract with its mark."""

    sentence: Sentence
    """Sentence of the abstract."""
    mark: Mark | None = None
    """Mark of the sentence; none if another study decides it, and its verdicts are not at hand."""
    verdicts: Sequence[Verdict] = ()
    """Verdicts on the claims that decide the sentence, in the order of the claims."""
    claims_with_remarks: Sequence[tuple[str, str]] = ()
    """Numbers of these claims with remarks; a claim that simply holds has the empty remark."""
    scales: Sequence[str] = ()
    """Scales at which the claims about training are judged, each once."""
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
    def is_rest_open(self) -> bool:
        """True if the sentence holds in part, and everything else behind it is open."""
        decisions = [{item.decision for item in each.counted} for each in self.verdicts]
        return (
            self.mark == "in part"
            and all(decisions)
            and set[str]().union(*decisions) == REST_IS_OPEN
        )


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
    sentences: Iterable[Sentence],
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> list[MarkedSentence]:
    """Return sentences of the registry's abstracts with their marks.

    Verdicts are given by number of the claim; claims without one are not tested. `elsewhere` has
    marked sentences that the paper's other study decides, by their words. The functions below take
    the same.
    """
    return [_mark_sentence(registry, each, verdicts, elsewhere) for each in sentences]


def _mark_sentence(
    registry: Registry,
    sentence: Sentence,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence],
) -> MarkedSentence:
    if sentence.study is not None:
        found = elsewhere.get(sentence.words, MarkedSentence(sentence, scales=[]))
        reasons = found.sentence.model_dump(include={"departs", "why"})
        return found._replace(sentence=sentence.model_copy(update=reasons))
    claims = [claim for claim in registry.claims if claim.id in sentence.claims]
    deciding = _verdicts_on(sentence.claims, verdicts, "not judged")
    scales = dict.fromkeys(
        registry.scale_of(claim, deciding[claim.id].seeds)
        for claim in claims
        if deciding[claim.id].comparisons
    )
    return MarkedSentence(
        sentence,
        sentence.mark or joint_mark([each.verdict for each in deciding.values()]),
        [*deciding.values()],
        [(each.claim, _remark(each, claims)) for each in deciding.values()],
        [*filter(None, scales)],
        plain_line(sentence.plain, verdicts),
        [*_verdicts_on(sentence.errata, verdicts, "no test").values()],
        registry.departures_of(sentence),
        registry.at_paper_scale.get(sentence.words, ""),
    )


def _verdicts_on(
    claims: Iterable[str], verdicts: Mapping[str, Verdict], reason: str
) -> dict[str, Verdict]:
    return {each: verdicts.get(each) or Verdict.without_evidence(each, reason) for each in claims}


def _remark(verdict: Verdict, claims: Iterable[Claim]) -> str:
    """Return how much of a claim holds if not all, and if it was declared late or answered."""
    own = [each for each in claims if each.id == verdict.claim]
    remarks = {
        short_verdict(verdict): verdict.verdict not in HOLDING,
        DECLARED_LATE: any(each.declared_late for each in own),
        "the authors answer": any(each.answer for each in own),
    }
    return "; ".join(words for words, is_said in remarks.items() if is_said)


def plain_line(text: str | None, verdicts: Mapping[str, Verdict]) -> str:
    """Return a plain line filled in; nothing if it is none, or `fill_line` refuses it."""
    # Under other settings a claim may have other comparisons than the line cites, or none.
    with suppress(InputError):
        return fill_line(text, "plain", verdicts)
    return ""


def fill_line(text: str | None, where: str, verdicts: Mapping[str, Verdict]) -> str:
    """Return a plain line; an InputError if it cites missing verdicts, or has over 12 words."""
    words = fill_template(text or "", where, {"verdict": verdict_finder(verdicts.get)}).split()
    if len(words) > LONGEST_LINE:
        raise InputError(f"{where}: has more than {LONGEST_LINE} words: {' '.join(words)}")
    return " ".join(words)


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
        for found in mark_sentences(registry, abstract.sentences, verdicts)
        if found.sentence.study is None
    }


def sentences_by_version(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, list[MarkedSentence]]:
    """Return `Registry.new_sentences` with their marks."""
    return {
        version: mark_sentences(registry, sentences, verdicts, elsewhere)
        for version, sentences in registry.new_sentences.items()
    }


def count_marks(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
) -> dict[str, dict[Mark, int]]:
    """Return how many sentences of each version have each mark."""
    found = {
        each.version: [*mark_sentences(registry, each.sentences, verdicts, elsewhere)]
        for each in registry.abstracts
    }
    return {
        version: {mark: sum(each.mark == mark for each in sentences) for mark in MARKS}
        for version, sentences in found.items()
    }


def departures_in_scale(found: Iterable[MarkedSentence]) -> str:
    """Return the departures of all sentences in scale, each setting once, in words."""
    departures = (part for each in found for part in each.departures if not part.is_regime)
    return "; ".join(map(str, merge_departures(departures)))


def both_scales(here: str, at_paper_scale: str) -> str:
    """Return a verdict or mark, and behind it that at the paper's scale, if there is one."""
    return f"here: {here}; {at_paper_scale}" if at_paper_scale else here


def abstract_lines(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[SentenceText, MarkedSentence] = MappingProxyType({}),
    link: Link = lambda claim, _: claim,
) -> list[str]:
    """Return a paper's abstract as Markdown, a table for every version, see `sentences_by_version`.

    The study's rules of robustness come first. A mark on training has the number of the scale at
    which it was judged; lines below the table tell the scales, and settings that depart from the
    paper's in size. The last line tells over what intervals do not generalise.
    `link` makes the text or Markdown that is shown for a claim.
    """
    paper = registry.scale_of_paper
    return _MARKDOWN.render(
        registry=registry,
        versions=sentences_by_version(registry, verdicts, elsewhere),
        link=link,
        paper=paper[:1].upper() + paper[1:],
    ).splitlines()


def _escape_bars(text: str) -> str:
    return text.replace("|", r"\|")


_ENVIRONMENT = Environment(
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
    finalize=lambda text: text if isinstance(text, Markdown) else escape_markdown(str(text)),
)
_FILTERS: dict[str, Callable[..., str]] = {
    "cell": _escape_bars,
    "plain": without_latex,
    "smaller": departures_in_scale,
}
_ENVIRONMENT.filters |= _FILTERS
_MARKDOWN = _ENVIRONMENT.from_string(
    """\
{% for rule in registry.rules_of_robustness %}
{{ rule }}

{% endfor %}
{% for version, sentences in versions.items() %}
{% set scales = sentences | map(attribute="scales") | sum(start=[]) | unique | list %}
| the abstract, {{ version | cell }} |  | decided by |
| --- | --- | --- |
{% for each in sentences %}
| {{ each.sentence.words | plain | cell }} | {% filter cell %}
{% if each.at_paper_scale %}here: {% endif %}
{% if each.mark in UNJUDGED %}{{ each.mark -}}
{% else %}**{{ each.mark or "judged there" }}**{% endif %}
{% if each.is_rest_open %}{{ REST_OPEN }}{% endif %}
{% for scale in each.scales %}
{% if loop.first %} <sup>{% endif %}{{ scales.index(scale) + 1 }}
{%- if loop.last %}</sup>{% else %}, {% endif %}
{% endfor %}
{% if each.plain %}: {{ each.plain }}{% endif %}
{% if each.at_paper_scale %}; {{ each.at_paper_scale }}{% endif %}
{% endfilter %} | {% filter cell %}
{% if each.verdicts %}
{% if each.sentence.why %}{{ each.sentence.why }} See {% endif %}
{% for claim, words in each.claims_with_remarks %}
{{ link(claim, each.sentence.study) }}{% if words %} ({{ words }}){% endif %}
{% if not loop.last %}, {% endif %}
{% endfor %}
{% if each.sentence.why %}.{% endif %}
{% else %}
{{ each.sentence.why or "see " ~ each.sentence.study -}}
{% endif %}
{% for erratum in each.errata %}
{% if loop.first %}<br>{{ ERRATA_BESIDE }} {% else %}, {% endif %}
{{ link(erratum.claim, each.sentence.study) }} (as printed: {{ erratum.verdict }})
{%- endfor %}
{% for departure, reason in each.departures_in_regime %}
<br>{{ DEPARTS_IN }} {{ departure }}.{% if reason %} {{ reason }}{% endif %}
{% endfor %}
{% endfilter %} |
{% endfor %}

{% if scales %}
Judged at this scale: {% for scale in scales %}
<sup>{{ loop.index }}</sup> {{ scale }}{% if not loop.last %}; {% endif %}
{% endfor %}.{% if paper %} {{ paper }}{% endif %}


{% endif %}
{% if sentences | smaller %}
{{ OTHER_SCALE }} {{ sentences | smaller }}.

{% endif %}
{% endfor %}
{% if registry.limit_of_intervals %}
{{ registry.limit_of_intervals }}

{% endif %}
""",
    globals={
        "UNJUDGED": UNJUDGED,
        "REST_OPEN": REST_OPEN,
        "ERRATA_BESIDE": ERRATA_BESIDE,
        "DEPARTS_IN": DEPARTS_IN,
        "OTHER_SCALE": OTHER_SCALE,
    },
)
"""The abstract as Markdown."""
