"""The figure of the scorecard: the sentences of an abstract, and how far each of them holds."""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.judge.verdicts import AT_PAPER_SCALE, DECIDED_BY, Comparison, Verdict
from replication.study.contract import Figure
from replication.study.registry import SCORECARD, Registry, Sentence, without_latex

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

    from replication.judge.abstract import MarkedSentence


class Scorecard(Figure):
    """The abstract's sentences with the estimates that decide them, on one axis."""

    title: ClassVar[str] = "The abstract, sentence by sentence"
    columns: ClassVar[tuple[str, ...]] = (
        "version", "sentence", "words", "mark", "plain", "errata", "departs", "claim", "says",
        "late", "verdict", "holding", "comparisons", "seeds", "cell", "decision", "estimate",
        "lower", "upper", "distance", "low", "high", "no_effect",
    )  # fmt: skip
    kind: Literal["scorecard"] = SCORECARD
    """Kind of the figure."""


def sentences_of(registry: Registry) -> list[dict[str, Any]]:
    """Return the sentences of all abstracts as plain data, each once.

    These are version and words; the claims that decide the sentence, those without a test last; the
    study, or the mark with its reason, if no claim decides it; the plain line and the claims with a
    test that it cites, errata, and departures in the regime; with a second reference, lines that
    tell its mark and its verdicts.
    """
    return [
        {"version": version, **_sentence(registry, each)}
        for version, sentences in registry.new_sentences.items()
        for each in sentences
    ]


def _sentence(registry: Registry, sentence: Sentence) -> dict[str, Any]:
    claims = {claim.id: claim for claim in registry.claims}
    deciding = [] if sentence.mark else [claims[name] for name in sentence.claims]
    told = registry.at_paper_scale
    names = {sentence.words: "The sentence", **{name: name for name in sentence.claims}}
    lines = [f"{called} {told[name]}" for name, called in names.items() if name in told]
    departures = registry.departures_of(sentence)
    return {
        **sentence.model_dump(include={"words", "study", "mark", "why", "plain"}),
        "claims": [
            {
                "claim": claim.id,
                "says": claim.headline or claim.statement,
                "late": claim.declared_late,
                "is_tested": claim.test is not None,
            }
            for claim in sorted(deciding, key=lambda each: each.test is None)
        ],
        "cited": [name for name in sentence.cited if claims[name].test],
        "errata": ", ".join(sentence.errata),
        "departs": "; ".join(str(found) for found in departures if found.is_regime),
        **({AT_PAPER_SCALE: "\n".join(lines)} if lines else {}),
    }


def claims_of_sentences(sentences: list[dict[str, Any]]) -> list[str]:
    """Return the claims with a test that decide sentences or that plain lines cite, each once."""
    named: dict[str, None] = {}
    for each in sentences:
        tested = [claim["claim"] for claim in each["claims"] if claim["is_tested"]]
        named |= dict.fromkeys([*tested, *each["cited"]])
    return [*named]


def table(figure: Scorecard, *verdicts: Verdict, sentences: list[dict[str, Any]]) -> "pd.DataFrame":
    """Return one row per sentence, claim and comparison that counts.

    The verdicts are those on `claims_of_sentences`, in this order. A claim that has no comparison,
    and a sentence that has no claim, are one row without numbers.

    `distance` is that of the estimate from the end of the needed range; it is positive inside the
    range. Its unit is the smallest effect that counts, or half the width of a range with two ends.
    `low` and `high` are the ends of the interval likewise, and `no_effect` is the place of no
    effect. A claim that has neither unit, and one of the theory, has no distance. The first row of
    a sentence has its plain line, errata, departures from the paper in the regime, and in a further
    column the lines on a run at the paper's scale, if one is kept.
    """
    import pandas as pd

    from replication.judge.abstract import plain_line

    found = {verdict.claim: verdict for verdict in verdicts}
    rows: list[dict[str, Any]] = []
    for at, each in enumerate(sentences, 1):
        own = {"version": each["version"], "sentence": at, "words": without_latex(each["words"])}
        # Once for each sentence, as the table is a part of a page, which has to be small.
        once = {name: each[name] for name in ("errata", "departs", AT_PAPER_SCALE) if name in each}
        once["plain"] = plain_line(each["plain"], found)
        first, *others = _sentence_rows(each, found)
        rows += [own | once | first, *(own | row for row in others)]
    added = [AT_PAPER_SCALE] * any(AT_PAPER_SCALE in each for each in sentences)
    return pd.DataFrame(rows, columns=[*figure.columns, *added])


def table_of_verdicts(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[str, "MarkedSentence"] = MappingProxyType({}),
) -> "pd.DataFrame":
    """Return the table of a paper's scorecard, from the verdicts of its reference.

    `elsewhere` has marked sentences that the paper's other study decides, by their words.
    """
    sentences = sentences_of(registry)
    for each in sentences:
        if each["study"] and each["words"] in elsewhere:
            each["mark"] = elsewhere[each["words"]].mark
    given = [verdicts[claim] for claim in claims_of_sentences(sentences)]
    return table(Scorecard(), *given, sentences=sentences)


def _sentence_rows(
    sentence: dict[str, Any], verdicts: dict[str, Verdict]
) -> Iterator[dict[str, Any]]:
    from replication.judge.abstract import joint_mark

    if not sentence["claims"]:
        study = sentence["study"]
        says = sentence["why"] or f"This study decides the sentence: {study}."
        yield {"mark": sentence["mark"] or f"{DECIDED_BY}{study}", "says": says}
        return
    judged = [
        verdicts.get(claim["claim"]) or Verdict.without_evidence(claim["claim"], "no test")
        for claim in sentence["claims"]
    ]
    mark = joint_mark([each.verdict for each in judged])
    for claim, verdict in zip(sentence["claims"], judged, strict=True):
        own = claim | {
            "mark": mark,
            "verdict": verdict.verdict,
            "holding": verdict.holding,
            "comparisons": len(verdict.counted),
            "seeds": verdict.seeds,
        }
        for row in [_comparison_row(item) for item in verdict.counted] or [{}]:
            yield own | row


def _comparison_row(item: Comparison) -> dict[str, Any]:
    row = item.model_dump(include={"cell", "decision", "estimate", "lower", "upper"})
    lower = -math.inf if item.lower is None else item.lower
    upper = math.inf if item.upper is None else item.upper
    middle, is_range = (lower + upper) / 2, math.isfinite(upper - lower)
    if is_range:
        unit = (upper - lower) / 2
    else:
        unit = 0 if item.bound is None else min(abs(lower - item.bound), abs(upper - item.bound))
    if not unit or item.low is None or item.high is None:
        return row
    # The middle of the range is farther inside than the ends of an interval around it.
    has_middle = is_range and item.low < middle < item.high
    ends = [item.low, item.high, *([middle] if has_middle else [])]
    # The distance from the nearer end of the needed range, inside it.
    distance, *others = (
        min(value - lower, upper - value) / unit for value in (item.estimate, *ends)
    )
    places = {"distance": distance, "low": min(others), "high": max(others)}
    return row | places | ({} if is_range else {"no_effect": -1.0})


def draw(figure: Scorecard, table: "pd.DataFrame", published: None = None) -> "Drawing":
    """Draw every sentence with its mark, and below it a line for each claim that decides it."""
    from replication.judge.scorecard_drawing import draw_scorecard

    return draw_scorecard(table)
