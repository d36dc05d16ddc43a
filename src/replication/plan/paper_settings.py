"""Removal of published values where the paper's settings were not kept.

The settings of a paper are the defaults of its study and, where there is one, its overlay
`paper_scale.yaml`. A figure that is made of other settings draws no published values, and a claim
about them is not tested; both say what differs from the nearer settings.
"""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from replication.plan.study_jobs import StudyJobs
from replication.study.seeds import format_seeds

MOST_DEPARTURES = 3
"""Largest number of departures that are told; of the rest only their number is."""
LONGEST_VALUE = 40
NONE = "none"


def without_published(study: StudyJobs, papers: Sequence[StudyJobs]) -> StudyJobs:
    """Return the jobs of a study, without published values where their settings were not kept.

    Args:
        study: the jobs of a configuration.
        papers: the jobs of the paper's settings. A published table that none of their figures and
            claims has is taken as it is.
    """
    unlike: dict[str, str] = {}
    for name, figure in study.figures.items():
        candidates = [
            departures(study, paper, figure.sources(), other.sources())
            for paper in papers
            for other in paper.figures.values()
            if figure.published and other.published == figure.published
        ]
        if candidates and all(candidates):
            unlike[f"figure {name}"] = min(candidates, key=len)
    for name, claim in study.claims.items():
        candidates = [
            departures(study, paper, study.sources(name), paper.sources(other))
            for paper in papers
            for other in ([name] if name in paper.claims else list(paper.claims))
            if claim.published_table
            and paper.claims[other].published_table == claim.published_table
        ]
        if candidates and all(candidates):
            unlike[f"claim {name}"] = min(candidates, key=len)
    figures = {
        name: figure.model_copy(update={"published": None})
        if f"figure {name}" in unlike
        else figure
        for name, figure in study.settings.figures.items()
    }
    settings = study.settings.model_copy(update={"figures": figures})
    return replace(study, settings=settings, unlike_published=unlike)


def departures(
    study: StudyJobs,
    paper: StudyJobs,
    sources: Sequence[tuple[str, str]],
    published: Sequence[tuple[str, str]],
) -> str:
    """Return the differences between our tables and the tables that values were published of.

    Args:
        study: the jobs of the configuration.
        paper: the jobs of the paper's settings.
        sources: experiment and metric of each table that is shown.
        published: experiment and metric of each table that the published values belong to, in the
            same order.

    Returns:
        Such as `sampling.steps: 50 instead of 100`; empty if nothing differs.
    """
    if len(sources) != len(published):
        return f"{len(sources)} tables instead of {len(published)}"
    found = [
        difference
        for now, before in zip(sources, published, strict=True)
        for difference in _differences(
            _settings_behind(study, *now), _settings_behind(paper, *before)
        )
    ]
    # Jobs have the same setting at places of their own: `updates` and `training.updates`.
    departing = [
        text
        for text in dict.fromkeys(found)
        if not any(each.endswith(f".{text}") for each in found)
    ]
    rest = len(departing) - MOST_DEPARTURES
    more = [f"and {rest} more"] if rest > 0 else []
    return "; ".join([*departing[:MOST_DEPARTURES], *more])


def _settings_behind(study: StudyJobs, experiment: str, metric: str) -> dict[str, Any]:
    """Return the settings and seeds of all jobs behind a metric; nothing if the metric is missing.

    A key on which jobs do not agree has the list of its values.
    """
    found = study.experiments.get(experiment)
    if not found or metric not in found.metrics:
        return {}
    jobs = (*found.data.values(), *found.runs.values(), found.metrics[metric])
    settings: dict[str, list[Any]] = {"seeds": [format_seeds(study.seeds(experiment))]}
    for each in {id(job.settings): job.settings for job in jobs}.values():
        for key, value in each.model_dump(mode="json").items():
            if value not in settings.setdefault(key, []):
                settings[key].append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in settings.items()}


def _differences(now: Any, before: Any, place: str = "") -> Iterator[str]:
    if isinstance(now, dict) and isinstance(before, dict):
        for key in {**before, **now}:
            below = f"{place}.{key}" if place else str(key)
            yield from _differences(now.get(key, NONE), before.get(key, NONE), below)
    elif now != before:
        yield f"{place}: {_value_in_words(now)} instead of {_value_in_words(before)}"


def _value_in_words(value: Any) -> str:
    if isinstance(value, dict):
        return "others"
    text = value if isinstance(value, str) else json.dumps(value)
    return textwrap.shorten(text, LONGEST_VALUE, placeholder=" ...")
