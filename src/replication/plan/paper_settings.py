"""Comparison with the paper's settings, and removal of published values where they were not kept.

A claim that decides a sentence of the abstract departs from the paper where a setting of the jobs
behind it is not as `Registry.paper_settings` says. The sentence gives a reason for each departure
in the regime.

The settings of a paper are the defaults of its study and, where there is one, its overlay
`paper_scale.yaml`. A figure that is made of other settings draws no published values, and a claim
about them is not tested; both say what differs from the nearer settings.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from replication.base.strict import shorten, unknown_key
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import Departure, Departures, PaperValues, Span
from replication.study.seeds import format_seeds

MOST_DEPARTURES = 3
"""Largest number of departures that are told; of the rest only their number is."""
LONGEST_VALUE = 40
NONE = "none"
Sources = Sequence[tuple[str, str]]
"""Experiment and metric of each table that is shown."""


def without_published(study: StudyJobs, papers: Sequence[StudyJobs]) -> StudyJobs:
    """Return the jobs of a study, without published values where their settings were not kept.

    Args:
        study: the jobs of a configuration.
        papers: the jobs of the paper's settings. A published table that none of their figures and
            claims has is taken as it is.
    """
    unlike: dict[str, str] = {}
    for name, figure in study.figures.items():
        others = [
            (paper, other.sources())
            for paper in papers
            for other in paper.figures.values()
            if figure.published and other.published == figure.published
        ]
        unlike[f"figure {name}"] = _nearest_departures(study, figure.sources(), others)
    for name, claim in study.claims.items():
        others = [
            (paper, paper.sources(other))
            for paper in papers
            for other in ([name] if name in paper.claims else paper.claims)
            if claim.published_table
            and paper.claims[other].published_table == claim.published_table
        ]
        unlike[f"claim {name}"] = _nearest_departures(study, study.sources(name), others)
    unlike = {name: told for name, told in unlike.items() if told}
    figures = {
        name: figure.model_copy(update={"published": None})
        if f"figure {name}" in unlike
        else figure
        for name, figure in study.settings.figures.items()
    }
    settings = study.settings.model_copy(update={"figures": figures})
    return replace(study, settings=settings, unlike_published=unlike)


def _nearest_departures(
    study: StudyJobs, sources: Sources, others: Iterable[tuple[StudyJobs, Sources]]
) -> str:
    """Return how tables differ from the nearest of those that values were published of, if any."""
    told = (_departures(study, paper, sources, published) for paper, published in others)
    return min(told, key=len, default="")


def _departures(study: StudyJobs, paper: StudyJobs, sources: Sources, published: Sources) -> str:
    """Return the differences of our tables from the paper's, which are in the same order.

    Such as `sampling.steps: 50 instead of 100`; empty if nothing differs.
    """
    if len(sources) != len(published):
        return f"{len(sources)} tables instead of {len(published)}"
    found: dict[str, None] = {}
    for one, other in zip(sources, published, strict=True):
        now, before = _settings_behind(study, [one]), _settings_behind(paper, [other])
        for key in {**before, **now}:
            if now.get(key) != before.get(key):
                ours, theirs = (_in_words(each.get(key, [NONE])) for each in (now, before))
                found[f"{key}: {ours} instead of {theirs}"] = None
    # Jobs have the same setting at places of their own: `updates` and `training.updates`.
    departing = [text for text in found if not any(each.endswith(f".{text}") for each in found)]
    rest = len(departing) - MOST_DEPARTURES
    more = [f"and {rest} more"] if rest > 0 else []
    return "; ".join([*departing[:MOST_DEPARTURES], *more])


def claim_departures(study: StudyJobs) -> Departures:
    """Return the departures of the jobs behind each claim that decides a sentence of the abstract.

    Settings that the registry's `paper_settings` does not name are not compared.
    """
    paper = study.registry.paper_settings
    named = {**paper.regime, **paper.scale}
    found: Departures = {}
    for claim in _deciding_claims(study) if named else ():
        settings = _settings_behind(study, study.sources(claim))
        others = {
            key: [
                each for each in _elements(settings.get(key, [])) if not _is_of_paper(each, known)
            ]
            for key, known in named.items()
        }
        found[claim] = [
            Departure(key, _words(values), _paper_in_words(named[key]), key in paper.regime)
            for key, values in others.items()
            if values
        ]
    return found


def mistakes_in_departures(study: StudyJobs) -> list[str]:
    """Return a sentence for each departure without a reason, and each reason without a departure.

    Settings of the paper that no job of the study has, under its defaults, are told, too.
    """
    registry = study.registry.model_copy(update={"departures": claim_departures(study)})
    paper = registry.paper_settings
    metrics = [
        (name, metric) for name, each in study.experiments.items() for metric in each.metrics
    ]
    known = [*_settings_behind(study, metrics)]
    where = f"{study.study.name}: registry.yaml"
    kinds = ("setting of a job", "settings of jobs")
    wrong = [
        f"{where}: paper_settings: {shorten(unknown_key(key, known, *kinds), 300)}"
        for key in {**paper.regime, **paper.scale}
        if key not in known
    ]
    for sentence in (each for parts in registry.new_sentences.values() for each in parts):
        place = f"{where}: abstracts: '{sentence.words}'"
        found = {each.setting: each for each in registry.departures_of(sentence) if each.is_regime}
        wrong += [
            f"{place}: claim {claim} departs from the paper in {each}; say under departs >"
            f" {each.setting} why the sentence does not depend on it, or judge it by a claim that"
            " does not depart"
            for claim in sentence.claims
            for each in registry.departures.get(claim, ())
            if each.setting in found.keys() - sentence.departs
        ]
        wrong += [
            f"{place}: departs: no claim that decides the sentence departs from"
            f" paper_settings > regime in {setting}; remove it"
            for setting in sentence.departs.keys() - found
        ]
    return wrong


def _deciding_claims(study: StudyJobs) -> list[str]:
    """Return the claims with a test that decide sentences of the abstract, each once."""
    sentences = (each for abstract in study.registry.abstracts for each in abstract.sentences)
    named = (claim for each in sentences if not each.mark for claim in each.claims)
    return [claim for claim in dict.fromkeys(named) if claim in study.claims]


def _settings_behind(study: StudyJobs, sources: Sources) -> dict[str, list[Any]]:
    """Return the settings and seeds of all jobs behind some metrics, as far as there are any.

    Dots separate the keys that lead to a setting. A setting has each value that it has in some job.
    """
    settings: dict[str, list[Any]] = {}

    def add(key: str, value: Any) -> None:
        if value not in settings.setdefault(key, []):
            settings[key].append(value)

    for experiment, metric in sources:
        found = study.experiments.get(experiment)
        if not found or metric not in found.metrics:
            continue
        add("seeds", format_seeds(study.seeds(experiment)))
        jobs = (*found.data.values(), *found.runs.values(), found.metrics[metric])
        for each in {id(job.settings): job.settings for job in jobs}.values():
            for key, value in _flat(each.model_dump(mode="json")):
                add(key, value)
    return settings


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of every setting."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _flat(below, f"{place}.{key}" if place else str(key))
    else:
        yield place, NONE if value is None else value


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and those in lists."""
    for value in values:
        yield from _elements(value) if isinstance(value, list) else [value]


def _is_of_paper(value: Any, known: PaperValues) -> bool:
    if isinstance(known, Span):
        return isinstance(value, int | float) and known.at_least <= value <= known.at_most
    return value in _elements([known])


def _paper_in_words(known: PaperValues) -> str:
    if isinstance(known, Span):
        return f"{known.at_least:g} to {known.at_most:g}"
    return _in_words([*_elements([known])])


def _in_words(values: Sequence[Any]) -> str:
    """Return values in a few words, each once."""
    return textwrap.shorten(", ".join(_words(values)), LONGEST_VALUE, placeholder=" ...")


def _words(values: Iterable[Any]) -> tuple[str, ...]:
    texts = (each if isinstance(each, str) else json.dumps(each) for each in values)
    return tuple(dict.fromkeys(texts))
