"""Run one job: `python -m replication.run.program FILE`, with its steps as JSON.

Every rule of the workflow calls this program. For every step it reads and checks the inputs, calls
the study's function and writes the returned value; `replication.study.contract` describes the
functions.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import replication.base.places  # noqa: F401  first: what follows is loaded by its content
from replication.base.errors import InputError
from replication.base.keys import digest_of_code
from replication.base.process import memory_limit
from replication.base.storage import unreadable_error
from replication.base.strict import shorten
from replication.plan.steps import EDITED, STEPS, Step, digest_of_file
from replication.run.stages import make_output, not_finite, read_runs
from replication.study.seeds import format_seeds

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
    try:
        document = job.read_bytes()
    except OSError as error:
        raise unreadable_error(job, error) from error
    for step in STEPS.validate_json(document):
        refuse_edited_code(step)
        try:
            make_output(step)
        except (InputError, MemoryError, RuntimeError, ValueError) as error:
            if not (failure := _failure(step, error)):
                raise
            raise InputError(f"{step.file}: {failure}") from error


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


def _failure(step: Step, error: Exception) -> str:
    """Return the failure of a step with its remedy; nothing if the error tells it, or is a bug."""
    if isinstance(error, InputError):
        remedy = "" if "--force" in error.message else _remedy(step)
        return remedy and f"{error.message}; {remedy}"
    said, wrong = str(error).lower(), ""
    if any(words in said for words in NOT_FINITE_WORDS):
        wrong = "a matrix is not finite any more"
    elif DECOMPOSITION_ERROR in type(error).__name__:
        wrong = f"a decomposition of a matrix fails ({shorten(error)})"
    if wrong:
        remedy = _remedy(step) or "lower the learning rate of what it is made from"
        return f"{wrong}, as after a training that diverged; {remedy}"
    # NumPy and PyTorch have no type for all errors about memory.
    if isinstance(error, MemoryError) or any(words in said for words in MEMORY_WORDS):
        return (
            f"does not fit into memory; {memory_limit()}lower the largest of its settings,"
            f" {_largest_settings(step)}, or let a job take fewer seeds"
        )
    return ""


def _remedy(step: Step) -> str:
    """Return the remedy for a metric that fails on a training that diverged; empty without one."""
    lost: set[int] = set()
    for run in read_runs(step, "runs") if step.stage == "metrics" else ():
        lost.update(*not_finite(run.arrays, run.seeds).values())
    if not lost:
        return ""
    seeds = format_seeds(sorted(lost))
    return (
        f"experiment {step.file.parent.name} has runs that are not finite, of seed {seeds}; lower"
        " the learning rate of what it is made from, or have the metric return NaN for such a seed"
    )


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


if __name__ == "__main__":
    main()
