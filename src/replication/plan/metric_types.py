"""Check that the evidence of a claim can read the metrics that the claim names.

Two types say so: the type of the settings of the program that makes the metric, and the type in
`Measured[...]` of the function's parameter. The check imports both, with all packages that they
compute with. So a plan checks only a user's own claims; the tests of a study
check its registry.
"""

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from replication.base.errors import InputError
from replication.plan.study_jobs import StudyJobs
from replication.study.contract import Job, Measured


def refuse_unreadable(jobs: StudyJobs, claim: str, where: str) -> None:
    """Refuse a claim whose measure cannot read one of its metrics, all of which are there.

    An `InputError` names the function, the metric, and the metrics that the function can read.
    """
    evidence = str(jobs.claims[claim].evidence)
    module, _, function = evidence.partition(".")
    program = import_module(jobs.study.program(f"claims.{module}"))
    for parameter, (experiment, metric) in _parameters_of_sources(
        getattr(program, function), jobs.sources(claim)
    ):
        metrics = jobs.experiments[experiment].metrics
        if not _can_read(parameter.annotation, _settings_type(jobs, metrics[metric])):
            known = [
                name
                for name, job in metrics.items()
                if _can_read(parameter.annotation, _settings_type(jobs, job))
            ]
            raise InputError(
                f"{where} > data: {evidence} cannot read the metric {metric} of {experiment} as its"
                f" {parameter.name}; it can read {', '.join(known) or 'none of its metrics'}"
            )


def _parameters_of_sources(
    evidence: Callable[..., Any], sources: list[tuple[str, str]]
) -> Iterator[tuple[inspect.Parameter, tuple[str, str]]]:
    """Yield each metric with the parameter by which the function takes it."""
    signature = inspect.signature(evidence)
    for name, given in signature.bind_partial(*sources).arguments.items():
        parameter = signature.parameters[name]
        takes_more = parameter.kind is parameter.VAR_POSITIONAL
        for source in given if takes_more else [given]:
            yield parameter, source


def _settings_type(jobs: StudyJobs, metric: Job) -> type:
    """Return the type of the settings of the program that makes a metric."""
    measure = import_module(jobs.study.program(metric.program)).measure
    first = next(iter(inspect.signature(measure).parameters.values()))
    return first.annotation  # type: ignore[no-any-return]


def _can_read(annotation: Any, made_by: type) -> bool:
    """Say whether a parameter takes a metric; a parameter without a type takes any."""
    if get_origin(annotation) in {Union, UnionType}:
        return any(_can_read(each, made_by) for each in get_args(annotation))
    if get_origin(annotation) is not Measured:
        is_untold = annotation in (Measured, Any, inspect.Parameter.empty)
        return is_untold or isinstance(annotation, str)
    (wanted,) = get_args(annotation)
    return wanted is Any or isinstance(wanted, TypeVar) or issubclass(made_by, wanted)
