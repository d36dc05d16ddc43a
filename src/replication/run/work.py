"""A job and its files: the inputs, read and checked, and the study's function."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from replication.base.errors import InputError
from replication.base.provenance import Provenance, Recipe
from replication.plan.orders import Input, Order, Role, file_digests, made_by
from replication.plan.stale_files import checksum, planned_with
from replication.study.contract import Measured, Run
from replication.study.published_tables import check_published_table
from replication.study.seeds import parse_seeds

Function = Callable[..., Any]
GAPS = "gaps"
"""Note on a metric: the seeds of whose runs an array is not finite, by name of the array."""


class Given(NamedTuple):
    """One input file."""

    path: Path
    """Path of the file."""
    role: Role
    """Use that the program makes of the file."""
    recipe: Recipe | None
    """Recipe that the file must name; none for a file without provenance."""
    seeds: list[int]
    """Seeds that the file covers."""
    settings: Any
    """Settings that made a metric."""
    mark: str | None = None
    """Mark of the maker that the checksum file of a figure's table must have."""
    gaps: Sequence[str] = ()
    """Gaps of the runs of a metric, see `Job.gaps`."""

    @property
    def experiment(self) -> str:
        """Experiment of a metric."""
        return self.path.parent.name


class Work(NamedTuple):
    """A job and its files."""

    order: Order
    """Order for the job."""
    given: list[Given]
    """Input files of the job."""
    output: Path
    """Path of the file that the job writes."""
    checksum: Path | None
    """Path of the file with the digest of a figure's table; none for other files."""

    def paths(self, role: Role) -> list[Path]:
        """Return the input files of one role."""
        return [item.path for item in self.given if item.role == role]

    @property
    def seeds(self) -> list[int]:
        """Seeds that the output covers."""
        return parse_seeds(self.order.seeds) if self.order.seeds else []

    @property
    def function(self) -> Function:
        """Function of the study that does the job."""
        return find_function(self.order.program, self.order.function)

    @property
    def settings(self) -> Any:
        """Settings as the type of the function's first parameter."""
        return parse_settings(self.function, self.order.settings)

    @property
    def provenance(self) -> Provenance:
        """Provenance of the output."""
        read = [(item.recipe, item.seeds) for item in self.given if item.recipe]
        order, printed = self.order, file_digests(self.paths("published"))
        gaps = [gap for item in self.given for gap in item.gaps]
        return made_by(order.program, order.settings, self.seeds, read, gaps, printed)


def parse_settings(function: Function, data: Any) -> Any:
    """Return plain data as the type of a function's first parameter.

    Raises:
        InputError: names what is wrong.
    """
    first = next(iter(inspect.signature(function).parameters.values()))
    return first.annotation.parse(data, "--job: settings")


def given_files(inputs: list[Input], paths: list[Path]) -> Iterator[Given]:
    """Yield the inputs of a job with the paths of their files.

    Raises:
        InputError: if the job names another number of files.
    """
    named = sum(item.count for item in inputs)
    if named != len(paths):
        raise InputError(f"--job: names {named} inputs, got {len(paths)}")
    rest = iter(paths)
    for item in inputs:
        for index in range(item.count):
            path = next(rest)
            text = path.stem if item.seeds is None else item.seeds[index]
            seeds = parse_seeds(text) if item.recipe and text else []
            yield Given(path, item.role, item.recipe, seeds, item.settings, item.mark, item.gaps)


def find_function(program: str, name: str) -> Function:
    """Return a function of a program by its name.

    Raises:
        InputError: if the program has no such function.
    """
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


def required_recipe(item: Given) -> Recipe:
    """Return the recipe of an input.

    Raises:
        InputError: if the job does not name the recipe.
    """
    if item.recipe is None:
        raise InputError(f"--job: does not say what made {item.path}")
    return item.recipe


def read_runs(work: Work, role: Role) -> Iterator[Run]:
    """Yield the input files of arrays that have one role, read and checked."""
    from replication.base.storage import read_arrays

    for item in work.given:
        if item.role == role:
            yield Run(
                item.path.stem,
                item.seeds,
                read_arrays(item.path, required_recipe(item), item.seeds),
            )


def read_tables(work: Work, *, without_diverged: bool = False) -> list[Any]:
    """Return the metrics with the settings that made them, or the verdicts, that a job reads.

    Args:
        work: the job.
        without_diverged: whether rows of `diverged_seeds` are left out.
    """
    from replication.base.tables import read_table
    from replication.judge.scorecard import read_verdict

    found: list[Any] = []
    for item in work.given:
        if item.role == "metrics":
            made_by = find_function(required_recipe(item).program, "measure")
            job = parse_settings(made_by, item.settings)
            table = read_table(item.path, required_recipe(item), item.seeds)
            if without_diverged:
                is_lost = table["seed"].isin(diverged_seeds(item))
                table = table[~is_lost].reset_index(drop=True)
            found.append(Measured(table, job))
        elif item.role == "verdict":
            found.append(read_verdict(item.path))
    return found


def diverged_seeds(item: Given) -> list[int]:
    """Return the seeds of a metric whose training diverged.

    An array of their runs is not finite that may have no gaps, as the study says now.
    """
    from replication.base.tables import read_note

    found: dict[str, list[int]] = json.loads(read_note(item.path, GAPS) or "{}")
    lost = {seed for name in without_gaps(found, item.gaps) for seed in found[name]}
    return sorted(lost)


def without_gaps(names: Iterable[str], gaps: Iterable[str]) -> list[str]:
    """Return the names of arrays that may have no gaps."""
    patterns = list(gaps)
    return [name for name in names if not any(fnmatchcase(name, each) for each in patterns)]


def read_published(work: Work, columns: tuple[str, ...] = ()) -> list[Any]:
    """Return the published tables; they are checked, as they may have changed since the plan."""
    from replication.base.tables import read_csv

    paths = work.paths("published")
    for path in paths:
        check_published_table(path, columns)
    return [read_csv(path, columns) for path in paths]


def used_settings(work: Work) -> dict[str, Any]:
    """Return the keys of the study's section that the function takes, as its parameters' types."""
    parameters = inspect.signature(work.function).parameters
    return {
        name: TypeAdapter(parameters[name].annotation).validate_python(value)
        for name, value in work.order.settings["uses"].items()
    }


def refuse_edited_code(work: Work) -> None:
    """Refuse a job that was planned with other code, or with other tables as printed.

    A process reads each source file once, so that the code which it loads later is this one, too.

    Raises:
        InputError: says that the same command plans the job anew.
    """
    order, published = work.order, work.paths("published")
    printed = file_digests(published)
    if planned_with(order.stage, order.program, printed) != order.planned_with:
        also = f", or of {', '.join(map(str, published))}," if published else ""
        raise InputError(
            f"{work.output}: the code of {order.program}{also} changed while this run was under"
            " way; give the same command again"
        )


def refuse_changed_table(table: Path, kept: Path, mark: str | None = None) -> None:
    """Refuse a figure's table that is changed since it was made, or was made otherwise.

    Args:
        table: the table.
        kept: the file with the digest of the table's content. It also holds the mark of the maker,
            unless the table is one of the reference, which may come from earlier code.
        mark: mark of the expected maker; any, if left out.

    Raises:
        InputError: says how to make the table again.
    """
    text = kept.read_text(encoding="utf-8", errors="replace")
    content, made, *_ = [*text.splitlines(), "", ""]
    if content != checksum(table).strip():
        raise InputError(f"{table} was changed after it was made; give the same command again")
    if mark and made and made != mark:
        raise InputError(
            f"{table}: made by another configuration or another version of the code; give the"
            " same command again, with all rules allowed"
        )
