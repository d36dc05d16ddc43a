"""The jobs of a study under a configuration, with the settings of its published values."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from replication.base.errors import InputError
from replication.base.strict import unknown_key
from replication.plan.configuration import (
    Computation,
    Configuration,
    configure,
    merge,
    read_overlay,
)
from replication.plan.limits import refuse_without_gpu
from replication.plan.paper_settings import claim_departures, without_published
from replication.plan.study_jobs import StudyJobs
from replication.study.registry import Registry, read_registry
from replication.study.studies import Study


def study_jobs(study: Study, configuration: Configuration) -> StudyJobs:
    """Return the jobs of a study, without published values of other settings."""
    parts = _read_study(study, configuration)
    papers = list(_paper_configurations(study, configuration.computation))
    if any(parts.settings == paper.section(study.name) for paper in papers):
        return parts
    defaults, *at_scale = papers
    known = [_read_study(study, defaults)]
    for paper in at_scale:
        # Where the study refuses to compute the paper's scale, nothing that it computes is of it.
        with suppress(InputError):
            known.append(_read_study(study, paper))
    return without_published(parts, known)


def _paper_configurations(study: Study, computation: Computation) -> Iterator[Configuration]:
    """Yield the settings of published values: the defaults, then the paper's scale.

    The overlay `paper_scale_given.yaml` adds data to the latter that only some users have.
    """
    yield configure({"computation": computation.model_dump()}, {study.name: study})
    for names in (["paper_scale"], ["paper_scale", "paper_scale_given"]):
        if paper := paper_scale(study, computation, names):
            yield paper


def paper_scale(
    study: Study, computation: Computation, names: Iterable[str] = ("paper_scale",)
) -> Configuration | None:
    """Return the settings of overlays in a study's folder; none if there are none to use."""
    paths = [study.folder / f"{name}.yaml" for name in names]
    if not all(path.exists() for path in paths):
        return None
    section: Any = {}
    for path in paths:
        section = merge(section, read_overlay(path).get(study.name, {}))
    with suppress(InputError):
        changes = {"computation": computation.model_dump(), study.name: section}
        return configure(changes, {study.name: study})
    return None


def _read_study(study: Study, configuration: Configuration) -> StudyJobs:
    settings = configuration.section(study.name)
    registry = read_registry(study.folder / "registry.yaml")
    where = f"configuration: {study.name}"
    _refuse_additions(settings, registry, where)
    experiments = study.experiments(settings, configuration.computation)
    refuse_without_gpu(where, experiments.values(), configuration.computation)
    parts = StudyJobs(
        study,
        settings,
        experiments,
        study.call_optional("variants", settings),
        registry.with_own(settings.claims, study.call_optional("counted", settings)),
    )
    departures = {"departures": claim_departures(parts)}
    return replace(parts, registry=parts.registry.model_copy(update=departures))


def _refuse_additions(settings: Any, registry: Registry, where: str) -> None:
    """Refuse claims and texts of a user's own in the place of others, or of no figure."""
    figures, taken = list(settings.figures), [claim.id for claim in registry.claims]
    for number, claim in settings.claims.items():
        place = f"{where} > claims > {number}"
        if claim is None and number not in taken:
            raise InputError(f"{place}: {unknown_key(number, sorted(taken), 'claim')}")
        if claim is not None and number in taken:
            raise InputError(
                f"{place}: the registry already has a claim with this id; choose another id"
            )
        if claim is not None and claim.figure and claim.figure not in figures:
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
