"""The figure of the scorecard: the sentences of an abstract, and how far each of them holds."""

import json
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from replication.judge.verdicts import AT_PAPER_SCALE, DECIDED_BY, Comparison, Verdict, range_of
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


def registry_of_scorecard(registry: Registry) -> dict[str, Any]:
    """Return a registry as plain data, without its head, methods, and claims of no sentence."""
    sentences = [each for abstract in registry.abstracts for each in abstract.sentences]
    named = {name for each in sentences for name in (*each.claims, *each.cited, *each.errata)}
    claims = [claim for claim in registry.claims if claim.id in named]
    head = dict.fromkeys(("title", "authors", "venue"), "-")
    part = registry.model_copy(update={**head, "url": None, "claims": claims, "methods": []})
    return part.model_dump(mode="json", exclude_defaults=True)


def claims_of_scorecard(registry: Registry) -> list[str]:
    """Return the claims with a test that decide sentences or that plain lines cite, each once."""
    tested = {claim.id for claim in registry.claims if claim.test}
    named = [
        name
        for sentences in registry.new_sentences.values()
        for each in sentences
        for name in (*([] if each.mark else each.claims), *each.cited)
    ]
    return [name for name in dict.fromkeys(named) if name in tested]


def table(figure: Scorecard, *verdicts: Verdict, registry: dict[str, Any]) -> "pd.DataFrame":
    """Return `table_of_verdicts`, given those on `claims_of_scorecard` and the plain registry."""
    known = Registry.parse_json(json.dumps(registry), "registry")
    return table_of_verdicts(known, {verdict.claim: verdict for verdict in verdicts})


def table_of_verdicts(
    registry: Registry,
    verdicts: Mapping[str, Verdict],
    elsewhere: Mapping[str, "MarkedSentence"] = MappingProxyType({}),
) -> "pd.DataFrame":
    """Return one row per sentence, claim and comparison that counts.

    A claim that has no comparison, and a sentence that has no claim, are one row without numbers.
    `elsewhere` has marked sentences that the paper's other study decides, by their words.

    `distance` is that of the estimate from the end of the needed range; it is positive inside the
    range. Its unit is the smallest effect that counts, or half the width of a range with two ends.
    `low` and `high` are the ends of the interval likewise, and `no_effect` is the place of no
    effect. A claim that has neither unit, and one of the theory, has no distance. The first row of
    a sentence has its plain line, errata, departures from the paper in the regime, and in a further
    column the lines on a run at the paper's scale, if one is kept.
    """
    import pandas as pd

    from replication.judge.abstract import plain_line, sentences_by_version

    marked = [
        (version, each)
        for version, sentences in sentences_by_version(registry, verdicts, elsewhere).items()
        for each in sentences
    ]
    rows: list[dict[str, Any]] = []
    for at, (version, each) in enumerate(marked, 1):
        words = without_latex(each.sentence.words)
        own = {"version": version, "sentence": at, "words": words, "mark": each.mark}
        # Once for each sentence, as the table is a part of a page, which has to be small.
        once = _limits(registry, each.sentence)
        once["plain"] = plain_line(each.sentence.plain, verdicts)
        first, *others = _rows(registry, each)
        rows += [own | once | first, *(own | row for row in others)]
    added = [AT_PAPER_SCALE] * any(AT_PAPER_SCALE in row for row in rows)
    return pd.DataFrame(rows, columns=[*Scorecard.columns, *added])


def _limits(registry: Registry, sentence: Sentence) -> dict[str, str]:
    """Return the limits of a mark: errata, departures, and lines on the paper's scale, if any."""
    told = registry.at_paper_scale
    names = {sentence.words: "The sentence", **{name: name for name in sentence.claims}}
    lines = [f"{called} {told[name]}" for name, called in names.items() if name in told]
    departures = registry.departures_of(sentence)
    return {
        "errata": ", ".join(sentence.errata),
        "departs": "; ".join(str(each) for each in departures if each.is_regime),
        **({AT_PAPER_SCALE: "\n".join(lines)} if lines else {}),
    }


def _rows(registry: Registry, marked: "MarkedSentence") -> Iterator[dict[str, Any]]:
    """Yield the rows of a sentence; claims without a test come last."""
    sentence = marked.sentence
    if sentence.study:
        says = f"This study decides the sentence: {sentence.study}."
        yield {"mark": marked.mark or f"{DECIDED_BY}{sentence.study}", "says": says}
        return
    if sentence.mark:
        yield {"says": sentence.why}
        return
    claims = {claim.id: claim for claim in registry.claims}
    for verdict in sorted(marked.verdicts, key=lambda each: claims[each.claim].test is None):
        claim = claims[verdict.claim]
        own = {
            "claim": claim.id,
            "says": claim.headline or claim.statement,
            "late": claim.declared_late,
            "verdict": verdict.verdict,
            "holding": verdict.holding,
            "comparisons": len(verdict.counted),
            "seeds": verdict.seeds,
        }
        for row in [*map(_comparison_row, verdict.counted)] or [{}]:
            yield own | row


def _comparison_row(item: Comparison) -> dict[str, Any]:
    row = item.model_dump(include={"cell", "decision", "estimate", "lower", "upper"})
    lower, upper = range_of(item)
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
