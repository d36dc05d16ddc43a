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
from replication.judge.verdicts import DECLARED_LATE, HOLDING, Outcome, Verdict, short_verdict
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

Link = Callable[[str, str | None], str]
"""Maker of Markdown from a claim's number, and from the study that judges it if not this one."""
ERRATA_BESIDE, DEPARTS_IN = "Errata that touch it:", "Departs from the paper in"
OTHER_SCALE = "Settings of scale that are not the paper's:"
"""Words before the errata of a sentence, before its departures in the regime, and in scale."""
REST_OPEN = ", the rest is open"
"""Remark on a sentence, see `MarkedSentence.is_rest_open`."""
LONGEST_LINE = 12
"""Largest number of words of a plain line."""


class MarkedSentence(NamedTuple):
    """A sentence of an abstract with its mark.

    mark                 none if another study decides it whose verdicts are not at hand
    verdicts             those on the claims that decide the sentence, in the order of the claims
    claims_with_remarks  numbers of these claims with remarks, empty for one that simply holds
    scales               scales at which the claims about training are judged, each once
    plain                finding in a few words; empty if there is none, see `plain_line`
    errata               verdicts on the errata that touch the sentence and do not decide it
    departures           settings in which the deciding runs depart from the paper's
    at_paper_scale       mark at the paper's scale in words; empty if no such run is kept
    """

    sentence: Sentence
    mark: Mark | None = None
    verdicts: Sequence[Verdict] = ()
    claims_with_remarks: Sequence[tuple[str, str]] = ()
    scales: Sequence[str] = ()
    plain: str = ""
    errata: Sequence[Verdict] = ()
    departures: Sequence[Departure] = ()
    at_paper_scale: str = ""

    @property
    def departures_in_regime(self) -> list[tuple[Departure, str]]:
        """Departures, each with the reason why the sentence does not depend on it."""
        reasons = self.sentence.departs
        return [(each, reasons.get(each.setting, "")) for each in self.departures if each.is_regime]

    @property
    def is_rest_open(self) -> bool:
        """True if the sentence holds in part, and everything else behind it is open."""
        decisions = [{item.decision for item in each.counted} for each in self.verdicts]
        found = set[str]().union(*decisions)
        return self.mark == "in part" and all(decisions) and found == {"holds", "open"}


Elsewhere = Mapping[str, MarkedSentence]
"""Marked sentences that the paper's other study decides, by their words."""
NOWHERE: Elsewhere = MappingProxyType({})
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
    elsewhere: Elsewhere = NOWHERE,
) -> list[MarkedSentence]:
    """Return sentences of the registry's abstracts with their marks.

    Verdicts are given by number of the claim; claims without one are not tested. The functions
    below take the same.
    """
    return [_mark_sentence(registry, each, verdicts, elsewhere) for each in sentences]


def _mark_sentence(
    registry: Registry, sentence: Sentence, verdicts: Mapping[str, Verdict], elsewhere: Elsewhere
) -> MarkedSentence:
    if sentence.study is not None:
        found = elsewhere.get(sentence.words, MarkedSentence(sentence, scales=[]))
        reasons = found.sentence.model_dump(include={"departs", "why"})
        return found._replace(sentence=sentence.model_copy(update=reasons))
    claims = {claim.id: claim for claim in registry.claims if claim.id in sentence.claims}
    deciding, errata = (
        {name: verdicts.get(name) or Verdict.without_evidence(name, "not judged") for name in names}
        for names in (sentence.claims, sentence.errata)
    )
    scales = dict.fromkeys(
        registry.scale_of(claim, deciding[name].seeds)
        for name, claim in claims.items()
        if deciding[name].comparisons
    )
    return MarkedSentence(
        sentence,
        sentence.mark or joint_mark([each.verdict for each in deciding.values()]),
        [*deciding.values()],
        [(name, _remark(claims[name], each)) for name, each in deciding.items()],
        [*filter(None, scales)],
        plain_line(sentence.plain, verdicts),
        [*errata.values()],
        registry.departures_of(sentence),
        registry.at_paper_scale.get(sentence.words, ""),
    )


def _remark(claim: Claim, verdict: Verdict) -> str:
    """Return how much of a claim holds if not all, and if it was declared late or answered."""
    remarks = {
        short_verdict(verdict): verdict.verdict not in HOLDING,
        DECLARED_LATE: claim.declared_late,
        "the authors answer": claim.answer,
    }
    return "; ".join(words for words, is_said in remarks.items() if is_said)


def plain_line(text: str | None, verdicts: Mapping[str, Verdict]) -> str:
    """Return a plain line filled in; none if it cites missing verdicts, or has over 12 words."""
    words: list[str] = []
    # Under other settings a claim may have other comparisons than the line cites, or none.
    with suppress(InputError):
        words = fill_template(text or "", "", {"verdict": verdict_finder(verdicts.get)}).split()
    return " ".join(words) if len(words) <= LONGEST_LINE else ""


def decided_sentences(
    papers: Iterable[tuple[Registry, Mapping[str, Verdict]]],
) -> dict[str, MarkedSentence]:
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
    registry: Registry, verdicts: Mapping[str, Verdict], elsewhere: Elsewhere = NOWHERE
) -> dict[str, list[MarkedSentence]]:
    """Return `Registry.new_sentences` with their marks."""
    return {
        version: mark_sentences(registry, sentences, verdicts, elsewhere)
        for version, sentences in registry.new_sentences.items()
    }


def count_marks(
    registry: Registry, verdicts: Mapping[str, Verdict], elsewhere: Elsewhere = NOWHERE
) -> dict[str, dict[Mark, int]]:
    """Return how many sentences of each version have each mark."""
    counts = {}
    for abstract in registry.abstracts:
        found = mark_sentences(registry, abstract.sentences, verdicts, elsewhere)
        marks = [each.mark for each in found]
        counts[abstract.version] = {mark: marks.count(mark) for mark in MARKS}
    return counts


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
    elsewhere: Elsewhere = NOWHERE,
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


def _finalize(text: object) -> str:
    return text if isinstance(text, Markdown) else escape_markdown(str(text))


_ENVIRONMENT = Environment(
    trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_finalize
)
_FILTERS: dict[str, Callable[..., str]] = {
    "cell": lambda text: text.replace("|", r"\|"),
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
