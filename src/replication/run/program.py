"""Run one job: `python -m replication.run.program FILE`, with its steps as JSON.

Every rule of the workflow calls this program. For every step it reads and checks the inputs, calls
the study's function and writes the returned value; `replication.study.contract` describes the
functions.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import replication.base.sources  # noqa: F401  first: what follows is loaded by its content
from replication.base.errors import InputError
from replication.base.process import memory_limit
from replication.base.strict import shorten
from replication.plan.steps import STEPS, Step
from replication.run.stages import make_output, seeds_not_finite
from replication.run.work import refuse_edited_code

MEMORY_WORDS = ("out of memory", "allocate memory", "array is too big", "maximum allowed")
"""Words in the errors of NumPy and PyTorch about arrays that are too large."""
NOT_FINITE_WORDS = ("non-finite", "infs or nans")
"""Words in the errors of PyTorch and SciPy about matrices that no decomposition takes."""
DECOMPOSITION_ERROR = "LinAlgError"
"""Name of the errors of NumPy, SciPy and PyTorch about decompositions that fail."""


@click.command(help=__doc__)
@click.argument("job", type=click.Path(path_type=Path))
def main(job: Path) -> None:
    """Run the steps of one job."""
    for step in STEPS.validate_json(_read_text(job)):
        refuse_edited_code(step)
        try:
            make_output(step)
        except InputError as error:
            if (
                step.stage != "metrics"
                or "--force" in error.message
                or not (remedy := _remedy(step))
            ):
                raise
            raise InputError(f"{step.file}: {error.message}; {remedy}") from error
        except (MemoryError, RuntimeError, ValueError) as error:
            if wrong := _matrix_failure(error):
                remedy = _remedy(step) or "lower the learning rate of what it is made from"
                raise InputError(
                    f"{step.file}: {wrong}, as after a training that diverged; {remedy}"
                ) from error
            if not _is_memory_error(error):
                raise
            raise InputError(
                f"{step.file}: does not fit into memory; {memory_limit()}lower the largest of"
                f" its settings, {_largest_settings(step)}, or let a job take fewer"
                " seeds"
            ) from error


def _remedy(step: Step) -> str:
    """Return the remedy for a metric that fails on a training that diverged; empty without one."""
    if not (seeds := seeds_not_finite(step)):
        return ""
    return (
        f"experiment {step.file.parent.name} has runs that are not finite, of seed {seeds}; lower"
        " the learning rate of what it is made from, or have the metric return NaN for such a seed"
    )


def _matrix_failure(error: Exception) -> str | None:
    """Return the failure of a matrix computation in words, None if the error is another one."""
    said = str(error).lower()
    if any(words in said for words in NOT_FINITE_WORDS):
        return "a matrix is not finite any more"
    if DECOMPOSITION_ERROR in type(error).__name__:
        return f"a decomposition of a matrix fails ({shorten(error)})"
    return None


def _is_memory_error(error: Exception) -> bool:
    """Say whether an error is about memory; NumPy and PyTorch have no type for all of these."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in MEMORY_WORDS)


def _largest_settings(step: Step) -> str:
    """Return the settings that decide the size of a job: whole numbers, and lengths of lists."""
    sizes = {"seeds": len(step.seeds), **dict(_sizes(step.settings))}
    large = sorted(sizes.items(), key=lambda item: item[1], reverse=True)[:3]
    return ", ".join(f"{path} ({size})" for path, size in large)


def _sizes(data: Any, path: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _sizes(value, f"{path} > {key}" if path else key)
    elif isinstance(data, list):
        yield path, len(data)
    elif isinstance(data, int) and not isinstance(data, bool):
        yield path, data


def _read_text(path: Path) -> str:
    from replication.base.storage import unreadable_error

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise unreadable_error(path, error) from error


if __name__ == "__main__":
    main()
