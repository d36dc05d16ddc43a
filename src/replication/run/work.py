"""The study's function of a step, its settings, and its inputs, read and checked."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from pydantic import TypeAdapter

from replication.base.errors import InputError
from replication.base.provenance import digest_of_code
from replication.plan.steps import EDITED, Input, Role, Step, digest_of_file
from replication.study.contract import Measured, Run
from replication.study.published_tables import check_published_table

Function = Callable[..., Any]
GAPS = "gaps"
"""Note on a metric: the seeds of whose runs an array is not finite, by name of the array."""


def find_function(program: str, name: str) -> Function:
    """Return a function of a program by its name; an `InputError` if the program has none."""
    function: Function | None = getattr(importlib.import_module(program), name, None)
    if function is None:
        raise InputError(f"{program} has no function {name}; write it, or correct the name")
    return function


def function_of(step: Step) -> Function:
    """Return the study's function that makes a step's file."""
    return find_function(step.program, step.function)


def parse_settings(function: Function, data: Any) -> Any:
    """Return plain data as the type of a function's first parameter, or refuse them in words."""
    first = next(iter(inspect.signature(function).parameters.values()))
    return first.annotation.parse(data, f"settings of {function.__module__}")


def settings_of(step: Step) -> Any:
    """Return a step's settings as the type of the function's first parameter."""
    return parse_settings(function_of(step), step.settings)


def used_settings(step: Step) -> dict[str, Any]:
    """Return the keys of the study's section that the function takes, as its parameters' types."""
    parameters = inspect.signature(function_of(step)).parameters
    return {
        name: TypeAdapter(parameters[name].annotation).validate_python(value)
        for name, value in step.settings["uses"].items()
    }


def read_runs(step: Step, role: Role) -> Iterator[Run]:
    """Yield the input files of arrays that have one role, read and checked."""
    from replication.base.storage import read_arrays

    for item in step.of_role(role):
        yield Run(item.file.stem, [*item.seeds], read_arrays(item.file, item.key))


def read_tables(step: Step, *, without_diverged: bool = False) -> list[Any]:
    """Return the metrics with the settings that made them, or the verdicts, that a step reads.

    Rows of `diverged_seeds` are left out if asked for.
    """
    from replication.base.tables import read_table
    from replication.judge.scorecard import read_verdict

    found: list[Any] = [read_verdict(item.file) for item in step.of_role("verdict")]
    for item in step.of_role("metrics"):
        table = read_table(item.file, item.key)
        if without_diverged:
            is_lost = table["seed"].isin(diverged_seeds(step, item))
            table = table[~is_lost].reset_index(drop=True)
        measure = find_function(item.program, "measure")
        found.append(Measured(table, parse_settings(measure, item.settings)))
    return found


def diverged_seeds(step: Step, item: Input) -> list[int]:
    """Return the seeds of a metric whose training diverged.

    An array of their runs is not finite that may have no gaps, as the study says now.
    """
    from replication.base.tables import read_note

    found: dict[str, list[int]] = json.loads(read_note(item.file, GAPS) or "{}")
    allowed = step.settings.get("gaps", {}).get(item.file.parent.name, [])
    return sorted({seed for name in without_gaps(found, allowed) for seed in found[name]})


def without_gaps(names: Iterable[str], gaps: Iterable[str]) -> list[str]:
    """Return the names of arrays that may have no gaps."""
    patterns = list(gaps)
    return [name for name in names if not any(fnmatchcase(name, each) for each in patterns)]


def read_published(step: Step, columns: tuple[str, ...] = ()) -> list[Any]:
    """Return the published tables; they are checked, as they may have changed since the plan."""
    from replication.base.tables import read_csv

    paths = [item.file for item in step.of_role("published")]
    for path in paths:
        check_published_table(path, columns)
    return [read_csv(path, columns) for path in paths]


def refuse_edited_code(step: Step) -> None:
    """Refuse a step that was planned with other code, or with other files that people edit.

    A process reads each source file once, so that the code which it loads later is this one, too.
    """
    changed = [] if digest_of_code(step.programs) == step.code else [f"the code of {step.program}"]
    edited = step.of_role(*EDITED)
    changed += [item.path for item in edited if digest_of_file(item.path) != item.key]
    if changed:
        raise InputError(
            f"{step.file}: {', '.join(changed)} changed while this run was under way; give the same"
            " command again"
        )
