"""The study's function of a job, its settings, and its inputs, read and checked."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from pydantic import TypeAdapter

from replication.base.errors import InputError
from replication.base.provenance import Provenance, surroundings_of
from replication.plan.orders import Input, Order, Role, file_digests, made_by, planned_with
from replication.plan.tasks import programs_of
from replication.study.contract import Measured, Run
from replication.study.published_tables import check_published_table
from replication.study.seeds import parse_seeds

Function = Callable[..., Any]
GAPS = "gaps"
"""Note on a metric: the seeds of whose runs an array is not finite, by name of the array."""


def find_function(program: str, name: str) -> Function:
    """Return a function of a program by its name; an `InputError` if the program has none."""
    module = importlib.import_module(program)
    function: Function | None = getattr(module, name, None)
    if function is None:
        known = [
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and not key.startswith("_")
        ]
        raise InputError(f"{program} has no function {name}; it has {', '.join(known)}")
    return function


def function_of(order: Order) -> Function:
    """Return the study's function that does a job."""
    return find_function(order.program, order.function)


def parse_settings(function: Function, data: Any) -> Any:
    """Return plain data as the type of a function's first parameter, or refuse them in words."""
    first = next(iter(inspect.signature(function).parameters.values()))
    return first.annotation.parse(data, "--job: settings")


def settings_of(order: Order) -> Any:
    """Return a job's settings as the type of the function's first parameter."""
    return parse_settings(function_of(order), order.settings)


def used_settings(order: Order) -> dict[str, Any]:
    """Return the keys of the study's section that the function takes, as its parameters' types."""
    parameters = inspect.signature(function_of(order)).parameters
    return {
        name: TypeAdapter(parameters[name].annotation).validate_python(value)
        for name, value in order.settings["uses"].items()
    }


def provenance_of(order: Order) -> Provenance:
    """Return the provenance of the file that a job makes here and now."""
    return made_by(order, surroundings_of(programs_of(order.stage, order.program)))


def read_runs(order: Order, role: Role) -> Iterator[Run]:
    """Yield the input files of arrays that have one role, read and checked."""
    from replication.base.storage import read_arrays

    for item in order.inputs:
        if item.role == role:
            seeds = parse_seeds(item.seeds) if item.seeds else []
            yield Run(item.file.stem, seeds, read_arrays(item.file, item.key))


def read_tables(order: Order, *, without_diverged: bool = False) -> list[Any]:
    """Return the metrics with the settings that made them, or the verdicts, that a job reads.

    Rows of `diverged_seeds` are left out if asked for.
    """
    from replication.base.tables import read_table
    from replication.judge.scorecard import read_verdict

    found: list[Any] = []
    for item in order.inputs:
        if item.role == "metrics":
            table = read_table(item.file, item.key)
            if without_diverged:
                is_lost = table["seed"].isin(diverged_seeds(item))
                table = table[~is_lost].reset_index(drop=True)
            measure = find_function(item.program, "measure")
            found.append(Measured(table, parse_settings(measure, item.settings)))
        elif item.role == "verdict":
            found.append(read_verdict(item.file))
    return found


def diverged_seeds(item: Input) -> list[int]:
    """Return the seeds of a metric whose training diverged.

    An array of their runs is not finite that may have no gaps, as the study says now.
    """
    from replication.base.tables import read_note

    found: dict[str, list[int]] = json.loads(read_note(item.file, GAPS) or "{}")
    lost = {seed for name in without_gaps(found, item.gaps) for seed in found[name]}
    return sorted(lost)


def without_gaps(names: Iterable[str], gaps: Iterable[str]) -> list[str]:
    """Return the names of arrays that may have no gaps."""
    patterns = list(gaps)
    return [name for name in names if not any(fnmatchcase(name, each) for each in patterns)]


def read_published(order: Order, columns: tuple[str, ...] = ()) -> list[Any]:
    """Return the published tables; they are checked, as they may have changed since the plan."""
    from replication.base.tables import read_csv

    paths = order.paths("published")
    for path in paths:
        check_published_table(path, columns)
    return [read_csv(path, columns) for path in paths]


def refuse_edited_code(order: Order) -> None:
    """Refuse a job that was planned with other code, or with other tables as printed.

    A process reads each source file once, so that the code which it loads later is this one, too.
    """
    published = order.paths("published")
    programs = programs_of(order.stage, order.program)
    if planned_with(programs, file_digests(published)) != order.planned_with:
        also = f", or of {', '.join(map(str, published))}," if published else ""
        raise InputError(
            f"{order.output}: the code of {order.program}{also} changed while this run was under"
            " way; give the same command again"
        )
