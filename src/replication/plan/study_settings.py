"""The jobs of a study under a configuration, compared with the settings of the paper.

The settings of a paper are the defaults of its study and, where there is one, its overlay
`paper_scale.yaml`; `paper_scale_given.yaml` adds data that only some users have. A figure that is
made of other settings draws no published values, and a claim about them is not tested; both say
what differs from the nearer settings.

A claim that decides a sentence of the abstract departs from the paper where a setting of the jobs
behind it is not as `Registry.paper_settings` says. The sentence gives a reason for each departure
in the regime.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from replication.base.errors import InputError
from replication.base.strict import shorten, unknown_key
from replication.plan.configuration import (
    Computation,
    Configuration,
    configure,
    read_overlays,
)
from replication.plan.limits import refuse_without_gpu
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import (
    Departure,
    Departures,
    PaperValues,
    Registry,
    Span,
    read_registry,
)
from replication.study.seeds import format_seeds
from replication.study.studies import Study

PAPER_SCALE = "paper_scale"
MOST_DEPARTURES = 3
"""Largest number of departures that are told; of the rest only their number is."""
LONGEST_VALUE = 40
NONE = "none"
Sources = Sequence[tuple[str, str]]
"""Experiment and metric of each table that is shown."""


def study_jobs(study: Study, configuration: Configuration) -> StudyJobs:
    """Return the jobs of a study, without published values of other settings."""
    jobs = _read_study(study, configuration)
    overlays = ((), (PAPER_SCALE,), (PAPER_SCALE, f"{PAPER_SCALE}_given"))
    found = [paper_scale(study, configuration.computation, names) for names in overlays]
    papers = [paper for paper in found if paper]
    if any(jobs.settings == paper.section(study.name) for paper in papers):
        return jobs
    known = []
    for paper in papers:
        # Where the study refuses to compute the paper's scale, nothing that it computes is of it.
        with suppress(InputError):
            known.append(_read_study(study, paper))
    return _without_published(jobs, known)


def paper_scale(
    study: Study, computation: Computation, names: Iterable[str] = (PAPER_SCALE,)
) -> Configuration | None:
    """Return the settings of overlays in a study's folder; none if there are none to use."""
    paths = [study.folder / f"{name}.yaml" for name in names]
    if not all(path.exists() for path in paths):
        return None
    section = read_overlays(paths).get(study.name, {})
    changes = {"computation": computation.model_dump(), study.name: section}
    with suppress(InputError):
        return configure(changes, {study.name: study})
    return None


def _read_study(study: Study, configuration: Configuration) -> StudyJobs:
    settings = configuration.section(study.name)
    registry = read_registry(study.folder / "registry.yaml")
    where = f"configuration: {study.name}"
    _refuse_additions(settings, registry, where)
    experiments = study.experiments(settings, configuration.computation)
    refuse_without_gpu(where, experiments.values(), configuration.computation)
    variants = study.call_optional("variants", settings)
    registry = registry.with_own(settings.claims, study.call_optional("counted", settings))
    jobs = StudyJobs(study, settings, experiments, variants, registry)
    departures = {"departures": claim_departures(jobs)}
    return replace(jobs, registry=registry.model_copy(update=departures))


def _refuse_additions(settings: Any, registry: Registry, where: str) -> None:
    """Refuse claims and texts of a user's own in the place of others, or of no figure."""
    figures, taken = [*settings.figures], [claim.id for claim in registry.claims]
    for number, claim in settings.claims.items():
        place = f"{where} > claims > {number}"
        if claim is None and number not in taken:
            raise InputError(f"{place}: {unknown_key(number, sorted(taken), 'claim')}")
        if claim and number in taken:
            raise InputError(
                f"{place}: the registry already has a claim with this id; choose another id"
            )
        if claim and claim.figure and claim.figure not in figures:
            raise InputError(f"{place} > figure: {unknown_key(claim.figure, figures)}")
    for name, text in settings.texts.items():
        place = f"{where} > texts > {name}"
        if name in registry.figures:
            raise InputError(
                f"{place}: the registry already describes this figure; choose another name"
            )
        if name not in figures:
            raise InputError(f"{place}: {unknown_key(name, figures)}")
        for key in ("drawn", "caption"):
            _refuse_template(getattr(text, key), f"{place} > {key}")


def _refuse_template(text: str, where: str) -> None:
    """Refuse a text that is no template of texts, before anything is computed for it."""
    from jinja2 import TemplateSyntaxError

    from replication.judge.templates import ENVIRONMENT

    try:
        ENVIRONMENT.compile(text)
    except TemplateSyntaxError as error:
        raise InputError(f"{where}: line {error.lineno} cannot be read: {error.message}") from error


def _without_published(study: StudyJobs, papers: Sequence[StudyJobs]) -> StudyJobs:
    """Return the jobs of a study, without published values where their settings were not kept.

    A published table that no figure or claim of the papers has is taken as it is.
    """
    unlike: dict[str, str] = {}
    for user, table, sources in _published(study):
        others = [
            (paper, other, theirs)
            for paper in papers
            for other, known, theirs in _published(paper)
            if known == table
        ]
        # One table may have the values of several claims.
        own = [each for each in others if each[1] == user] or others
        told = (_differences(study, paper, sources, theirs) for paper, _, theirs in own)
        if nearest := min(told, key=len, default=""):
            unlike[user] = nearest
    figures = {
        name: figure.model_copy(update={"published": None} if f"figure {name}" in unlike else {})
        for name, figure in study.settings.figures.items()
    }
    settings = study.settings.model_copy(update={"figures": figures})
    return replace(study, settings=settings, unlike_published=unlike)


def _published(study: StudyJobs) -> Iterator[tuple[str, tuple[str, str], Sources]]:
    """Yield every figure and claim with its published table and the sources of its own."""
    for name, figure in study.figures.items():
        if figure.published:
            yield f"figure {name}", ("figure", figure.published), figure.sources()
    for name, claim in study.claims.items():
        if claim.published_table:
            yield f"claim {name}", ("claim", claim.published_table), study.sources(name)


def _differences(study: StudyJobs, paper: StudyJobs, sources: Sources, published: Sources) -> str:
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
    told = [text for text in found if not any(each.endswith(f".{text}") for each in found)]
    rest = len(told) - MOST_DEPARTURES
    return "; ".join(told[:MOST_DEPARTURES] + [f"and {rest} more"] * (rest > 0))


def claim_departures(study: StudyJobs) -> Departures:
    """Return the departures of the jobs behind each claim that decides a sentence of the abstract.

    Settings that the registry's `paper_settings` does not name are not compared.
    """
    paper = study.registry.paper_settings
    named = paper.regime | paper.scale
    sentences = (each for abstract in study.registry.abstracts for each in abstract.sentences)
    decided = (each for each in sentences if not each.mark)
    deciding = dict.fromkeys(claim for each in decided for claim in each.claims)
    found: Departures = {}
    for claim in filter(study.claims.__contains__, deciding if named else ()):
        settings = _settings_behind(study, study.sources(claim))
        departures = [
            (key, [each for each in _elements(settings.get(key, [])) if not _is_of(each, known)])
            for key, known in named.items()
        ]
        found[claim] = [
            Departure(key, _words(ours), _in_words(_paper_values(named[key])), key in paper.regime)
            for key, ours in departures
            if ours
        ]
    return found


def mistakes_in_departures(study: StudyJobs) -> list[str]:
    """Return a sentence for each departure without a reason, and each reason without a departure.

    Settings of the paper that no job of the study has, under its defaults, are told, too.
    """
    registry = study.registry.model_copy(update={"departures": claim_departures(study)})
    metrics = [(name, each) for name, own in study.experiments.items() for each in own.metrics]
    known = [*_settings_behind(study, metrics)]
    where = f"{study.study.name}: registry.yaml"
    kinds = ("setting of a job", "settings of jobs")
    wrong = [
        f"{where}: paper_settings: {shorten(unknown_key(key, known, *kinds), 300)}"
        for key in registry.paper_settings.regime | registry.paper_settings.scale
        if key not in known
    ]
    for sentence in (each for parts in registry.new_sentences.values() for each in parts):
        place = f"{where}: abstracts: '{sentence.words}'"
        found = {each.setting for each in registry.departures_of(sentence) if each.is_regime}
        wrong += [
            f"{place}: claim {claim} departs from the paper in {each}; say under departs >"
            f" {each.setting} why the sentence does not depend on it, or judge it by a claim that"
            " does not depart"
            for claim in sentence.claims
            for each in registry.departures.get(claim, ())
            if each.setting in found - sentence.departs.keys()
        ]
        wrong += [
            f"{place}: departs: no claim that decides the sentence departs from"
            f" paper_settings > regime in {setting}; remove it"
            for setting in sentence.departs.keys() - found
        ]
    return wrong


def _settings_behind(study: StudyJobs, sources: Sources) -> dict[str, list[Any]]:
    """Return the settings and seeds of all jobs behind some metrics, as far as there are any.

    Dots separate the keys that lead to a setting. A setting has each value that it has in some job.
    """
    settings: dict[str, list[Any]] = {}
    for name, metric in sources:
        found = study.experiments.get(name)
        if not found or metric not in found.metrics:
            continue
        jobs = (*found.data.values(), *found.runs.values(), found.metrics[metric])
        flat = [("seeds", format_seeds(study.seeds(name)))]
        for each in {id(job.settings): job.settings for job in jobs}.values():
            flat += _flat(each.model_dump(mode="json"))
        for key, value in flat:
            if value not in settings.setdefault(key, []):
                settings[key].append(value)
    return settings


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of every setting."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _flat(below, f"{place}.{key}" if place else str(key))
    else:
        yield place, NONE if value is None else value


def _elements(values: Any) -> Iterator[Any]:
    """Yield the values in lists of lists."""
    if isinstance(values, list):
        for each in values:
            yield from _elements(each)
    else:
        yield values


def _is_of(value: Any, known: PaperValues) -> bool:
    if isinstance(known, Span):
        return isinstance(value, int | float) and known.at_least <= value <= known.at_most
    return value in _elements(known)


def _paper_values(known: PaperValues) -> Iterable[Any]:
    if isinstance(known, Span):
        return [f"{known.at_least:g} to {known.at_most:g}"]
    return _elements(known)


def _in_words(values: Iterable[Any]) -> str:
    """Return values in a few words, each once."""
    return textwrap.shorten(", ".join(_words(values)), LONGEST_VALUE, placeholder=" ...")


def _words(values: Iterable[Any]) -> tuple[str, ...]:
    texts = (each if isinstance(each, str) else json.dumps(each) for each in values)
    return tuple(dict.fromkeys(texts))
