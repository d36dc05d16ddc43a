"""Run one job: `python -m replication.run.program --job FILE OUTPUT... INPUT...`.

Every rule of the workflow calls this program. For every order of the job it reads and checks what
that reads, calls the study's function and writes what it returns; see
`replication.study.contract` for the functions.
"""

import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from pydantic import TypeAdapter

from replication.base.errors import InputError, UnmeasurableError
from replication.base.provenance import Provenance, Recipe, digest
from replication.base.strict import shown
from replication.plan.orders import Input, Order, Orders, Role, made_by
from replication.plan.stale_files import mark
from replication.study.contract import Measured, Run
from replication.study.published_tables import check_printed
from replication.study.seeds import format_seeds, parse_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replication.run.checkpoint import Checkpoint

Function = Callable[..., Any]
_FILE = click.Path(path_type=Path)
OF_MEMORY = ("out of memory", "allocate memory", "array is too big", "maximum allowed")
"""Words of NumPy and PyTorch about what is too large."""
NOT_FINITE = ("non-finite", "infs or nans")
"""Words of PyTorch and SciPy about matrices that no decomposition takes."""
OF_LAPACK = "LinAlgError"
"""Name of the errors of NumPy, SciPy and PyTorch about decompositions that fail."""


class Given(NamedTuple):
    """One input file."""

    path: Path
    """Where it is."""
    role: Role
    """What it is to the program."""
    recipe: Recipe | None
    """What it must say of itself."""
    seeds: list[int]
    """What it covers."""
    settings: Any
    """Of a metric, what made it."""
    mark: str | None = None
    """Of a figure's table, what the file with its checksum must say of it."""


class Work(NamedTuple):
    """A job and its files."""

    order: Order
    """The job."""
    given: list[Given]
    """Its inputs."""
    output: Path
    """What is written."""
    checksum: Path | None
    """Of a figure's table, where the digest of its content stands."""

    def paths(self, role: Role) -> list[Path]:
        """Input files of one role."""
        return [item.path for item in self.given if item.role == role]

    @property
    def seeds(self) -> list[int]:
        """What the output covers."""
        return parse_seeds(self.order.seeds) if self.order.seeds else []

    @property
    def function(self) -> Function:
        """What the study does."""
        return _function(self.order.program, self.order.function)

    @property
    def settings(self) -> Any:
        """What the function's first parameter takes."""
        return parsed(self.function, self.order.settings)

    @property
    def provenance(self) -> Provenance:
        """What the output says of itself."""
        read = [(item.recipe, item.seeds) for item in self.given if item.recipe]
        return made_by(self.order.program, self.order.settings, self.seeds, read)


def parsed(function: Function, data: Any) -> Any:
    """Plain data as the type of a function's first parameter.

    Raises:
        InputError: names what is wrong.
    """
    first = next(iter(inspect.signature(function).parameters.values()))
    return first.annotation.parse(data, "--job: settings")


@click.command(help=__doc__)
@click.option("--job", required=True, type=_FILE, help="Orders as JSON, one for each output.")
@click.option("--checksum", type=_FILE, help="Digest of a figure's table.")
@click.argument("files", nargs=-1, type=_FILE)
def main(job: Path, checksum: Path | None, files: tuple[Path, ...]) -> None:
    """Run it."""
    orders = Orders.parse_json(_text(job), str(job)).orders
    outputs, rest = files[: len(orders)], iter(files[len(orders) :])
    numbers = [sum(item.count for item in order.inputs) for order in orders]
    if len(files) != len(orders) + sum(numbers):
        raise InputError(f"--job: names {len(orders) + sum(numbers)} files, got {len(files)}")
    for order, output, number in zip(orders, outputs, numbers, strict=True):
        given = list(given_files(order.inputs, list(islice(rest, number))))
        work = Work(order, given, output, checksum)
        try:
            make(work)
        except (MemoryError, RuntimeError, ValueError) as error:
            if wrong := _of_matrix(error):
                raise InputError(
                    f"{output}: {wrong}, as after a training that diverged; lower the learning rate"
                    " of what it is made from"
                ) from error
            if not _is_of_memory(error):
                raise
            raise InputError(
                f"{output}: does not fit into memory; the largest of its settings are"
                f" {', '.join(_largest(work))}: lower them, or let a job take fewer seeds"
            ) from error


def make(work: Work) -> None:
    """Do one job.

    Raises:
        InputError: names what is wrong with an input.
    """
    _STAGES[work.order.stage](work)


def draw(order: Order, table: Path, checked: Path, published: Sequence[Path], output: Path) -> None:
    """Draw a figure here and now, from a table that may stand anywhere.

    Args:
        order: the figure's job.
        table: the numbers that it draws.
        checked: digest of the table's content.
        published: tables as printed.
        output: where to draw; its ending says which kind of picture.

    Raises:
        InputError: names what is wrong with an input.
    """
    given = list(given_files(order.inputs, [table, *published]))
    make(Work(order, given, output, checked))


def _of_matrix(error: Exception) -> str | None:
    """What is wrong with a matrix, if anything."""
    said = str(error).lower()
    if any(words in said for words in NOT_FINITE):
        return "a matrix is not finite any more"
    if OF_LAPACK in type(error).__name__:
        return f"a decomposition of a matrix fails ({shown(error)})"
    return None


def _is_of_memory(error: Exception) -> bool:
    """Neither NumPy nor PyTorch has a type of error for all of them."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in OF_MEMORY)


def _largest(work: Work) -> list[str]:
    """The settings that decide the size: whole numbers and lengths of lists, by their keys."""
    sizes = {"seeds": len(work.seeds), **dict(_sizes(work.order.settings))}
    large = sorted(sizes.items(), key=lambda item: item[1], reverse=True)[:3]
    return [f"{path} ({size})" for path, size in large]


def _sizes(data: Any, path: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _sizes(value, f"{path} > {key}" if path else key)
    elif isinstance(data, list):
        yield path, len(data)
    elif isinstance(data, int) and not isinstance(data, bool):
        yield path, data


def _text(path: Path) -> str:
    from replication.base.storage import unreadable

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _data(work: Work) -> None:
    from replication.base.storage import write_arrays

    arrays = _by_seed(work.function(work.settings, work.seeds, work.paths("source")), work)
    if wrong := _not_finite(arrays):
        raise InputError(
            f"{work.output}: {wrong[0]} has numbers that are not finite; correct what it is made"
            " from, or its settings"
        )
    write_arrays(work.output, arrays, work.provenance)


def _runs(work: Work) -> None:
    from replication.base.storage import write_arrays
    from replication.run.checkpoint import Checkpoint

    # By another name than the whole run: neither is taken for the other. And only of the same data,
    # which may be of other source files, as their recipes do not say.
    under_way = {
        **work.provenance,
        "program": f"{work.order.program}, under way",
        "data": [checksum(path).strip() for path in work.paths("data")],
    }
    kept = work.output.with_suffix(".checkpoint")
    if kept.is_dir():
        raise InputError(
            f"{kept}: is a folder, but a long training keeps a file of this name; remove it and run"
            " again"
        )
    checkpoint = _Resumable(Checkpoint(kept, under_way), work.order.gaps)
    data = [file.arrays for file in _read(work, "data")]
    arrays = _by_seed(_trained(work, data, checkpoint), work)
    for name in _not_finite(arrays, work.order.gaps):
        each = zip(work.seeds, arrays[name], strict=False)
        wrong = format_seeds([seed for seed, own in each if _not_finite({name: own})])
        raise InputError(
            f"{work.output}: {name}{wrong and f' of seed {wrong}'} is not finite, as after a"
            " training that diverged; lower its learning rate"
        )
    write_arrays(work.output, arrays, work.provenance)
    checkpoint.remove()


class _Resumable:
    """A checkpoint, and whether a training is about to go on from it."""

    def __init__(self, checkpoint: "Checkpoint", gaps: list[str]) -> None:
        self._checkpoint, self._gaps = checkpoint, gaps
        self.is_tried = self.is_refused = False

    def read(self) -> dict[str, Any] | None:
        """What was kept, if it can be of use."""
        found = None if self.is_refused else self._checkpoint.read()
        if found and (wrong := _not_finite(found, self._gaps)):
            click.echo(f"starting anew: {wrong[0]} of what was kept is not finite", err=True)
            found = None
        self.is_tried = found is not None
        return found

    def is_due(self) -> bool:
        """Whether the state should be kept now; asked after every step."""
        self.is_tried = False
        return self._checkpoint.is_due()

    def write(self, arrays: Any) -> None:
        """Keep a state."""
        self._checkpoint.write(arrays)

    def remove(self) -> None:
        """The run is over."""
        self._checkpoint.remove()


def _trained(work: Work, data: list[Any], checkpoint: _Resumable) -> Any:
    """What the study's function returns, from the beginning if it cannot go on from a checkpoint.

    An array that is not there, or is of another shape, fails in any way.
    """
    try:
        return work.function(work.settings, work.seeds, data, checkpoint)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        if not checkpoint.is_tried:
            raise
        click.echo(f"starting anew: what was kept does not suffice ({shown(error)})", err=True)
    checkpoint.is_refused = True
    return work.function(work.settings, work.seeds, data, checkpoint)


def _metrics(work: Work) -> None:
    from replication.base.tables import write_table

    data = [file.arrays for file in _read(work, "data")]
    table = work.function(work.settings, _read(work, "runs"), data)
    _refuse_lacking(work, f"metric {work.output.stem}", table, ("seed",))
    write_table(work.output, table, work.provenance)


def _table(work: Work) -> None:
    from replication.base.storage import write_text
    from replication.base.tables import write_csv

    figure = parsed(work.function, work.order.settings["figure"])
    table = work.function(figure, *_measured(work), **_uses(work))
    _refuse_lacking(work, f"figure {work.output.stem}", table, figure.columns)
    if table.empty:
        raise InputError(
            f"figure {work.output.stem}: nothing of what it shows was measured; change its settings"
            " or those of its experiments"
        )
    write_csv(work.output, table)
    if work.checksum:
        write_text(work.checksum, f"{checksum(work.output)}{mark(work.provenance)}\n")


def _figure(work: Work) -> None:
    from replication.base.tables import read_csv
    from replication.figures.style import set_style

    (table,) = work.paths("table")
    if work.checksum:
        refuse_changed(table, work.checksum, work.given[0].mark)
    figure = parsed(work.function, work.order.settings["figure"])
    known = _printed(work, figure.published_columns)
    set_style()
    drawn = work.function(figure, read_csv(table, figure.columns), known[0] if known else None)
    write_figure(work, drawn)


def write_figure(work: Work, drawn: "Figure") -> None:
    """Write what the function of a figure's job has drawn."""
    from replication.base.storage import write_atomically
    from replication.figures.layout import settle
    from replication.figures.style import note, save

    if unlike := work.order.settings.get("unlike_published"):
        click.echo(f"{work.output} shows no published values: {unlike}", err=True)
        settle(drawn)
        note(drawn, f"No published values, as the settings differ from theirs: {unlike}")
    kind = work.output.suffix.removeprefix(".")
    subject = f"{work.output.stem}; {mark(work.provenance)}; seeds {work.order.seeds or 'none'}"
    title = parsed(work.function, work.order.settings["figure"]).title
    write_atomically(work.output, lambda stream: save(drawn, stream, kind, title, subject))


def _evidence(work: Work) -> None:
    from pandas.errors import UndefinedVariableError

    from replication.base.tables import write_table

    try:
        if unlike := work.order.settings.get("unlike_published"):
            raise UnmeasurableError(f"the settings differ from those that were published: {unlike}")
        table = work.function(*_measured(work), *_printed(work), **_uses(work))
    except UnmeasurableError as error:
        from replication.judge.comparisons import missing_evidence

        click.echo(f"claim {work.output.stem} is not tested: {error.message}", err=True)
        table = missing_evidence(error.message)
    except (KeyError, UndefinedVariableError) as error:
        # Of metrics whose settings are of one type it is known only now which columns they have.
        raise InputError(
            f"claim {work.output.stem}: {work.order.program}.{work.order.function} cannot read"
            f" {', '.join(map(str, work.paths('metrics')))} ({type(error).__name__}:"
            f" {error}); name the metrics that it reads under `data` of the claim"
        ) from error
    write_table(work.output, table, work.provenance)


def _verdict(work: Work) -> None:
    from replication.base.tables import read_table
    from replication.judge.scorecard import write_verdict

    evidence = [read_table(item.path, _recipe(item), item.seeds) for item in work.given]
    verdict = work.function(work.settings, evidence)
    made = work.provenance
    made["settings"] = digest(made["settings"])
    write_verdict(work.output, verdict, made)


_STAGES: dict[str, Callable[[Work], None]] = {
    "data": _data,
    "runs": _runs,
    "metrics": _metrics,
    "table": _table,
    "figure": _figure,
    "evidence": _evidence,
    "verdict": _verdict,
}


def checksum(path: Path) -> str:
    """The digest of a file's content."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def refuse_changed(table: Path, kept: Path, mark: str | None = None) -> None:
    """Refuse a figure's table that is not as it was made, or was made otherwise.

    Args:
        table: the table.
        kept: the file with the digest of its content. It says what made it, too, unless the table
            is one of the reference, which may come from earlier code.
        mark: what should have made it; anything, if left out.

    Raises:
        InputError: says what to do.
    """
    content, _, made = kept.read_text(encoding="utf-8", errors="replace").partition("\n")
    if content != checksum(table).strip():
        raise InputError(f"{table} was changed after it was made; delete it and run again")
    if mark and made and made.strip() != mark:
        raise InputError(
            f"{table}: made by another configuration or another version of the code; delete the"
            " file and run again, with all rules allowed"
        )


def given_files(inputs: list[Input], paths: list[Path]) -> Iterator[Given]:
    """What a job reads, with the paths of its files.

    Raises:
        InputError: if it reads another number of them.
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
            yield Given(path, item.role, item.recipe, seeds, item.settings, item.mark)


def _function(program: str, name: str) -> Function:
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


def _recipe(item: Given) -> Recipe:
    if item.recipe is None:
        raise InputError(f"--job: does not say what made {item.path}")
    return item.recipe


def _read(work: Work, role: Role) -> Iterator[Run]:
    from replication.base.storage import read_arrays

    for item in work.given:
        if item.role == role:
            yield Run(item.path.stem, item.seeds, read_arrays(item.path, _recipe(item), item.seeds))


def measured(order: Order, paths: Sequence[Path]) -> list[Measured[Any]]:
    """The metrics among the inputs of a job, read and checked."""
    given = list(given_files(order.inputs, list(paths)))
    return _measured(Work(order, given, Path(), None))


def _measured(work: Work) -> list[Any]:
    """What the function takes first: metrics with what made them, or verdicts."""
    from replication.base.tables import read_table
    from replication.judge.scorecard import read_verdict

    found: list[Any] = []
    for item in work.given:
        if item.role == "metrics":
            made_by = _function(_recipe(item).program, "measure")
            job = parsed(made_by, item.settings)
            found.append(Measured(read_table(item.path, _recipe(item), item.seeds), job))
        elif item.role == "verdict":
            found.append(read_verdict(item.path))
    return found


def _printed(work: Work, columns: tuple[str, ...] = ()) -> list[Any]:
    """Tables as printed, read and checked, as they may have changed since jobs were planned."""
    from replication.base.tables import read_csv

    paths = work.paths("published")
    for path in paths:
        check_printed(path, columns)
    return [read_csv(path, columns) for path in paths]


def _uses(work: Work) -> dict[str, Any]:
    """Keys of the study's section, as the types of the function's parameters say."""
    parameters = inspect.signature(work.function).parameters
    return {
        name: TypeAdapter(parameters[name].annotation).validate_python(value)
        for name, value in work.order.settings["uses"].items()
    }


def _refuse_lacking(work: Work, made: str, table: Any, columns: Iterable[str]) -> None:
    """Refuse a table without some columns, which would fail where it is read."""
    if missing := [name for name in columns if name not in table.columns]:
        raise InputError(
            f"{work.order.program}.{work.order.function}: the table of the {made} lacks the"
            f" column(s) {', '.join(missing)}; it has {', '.join(map(str, table.columns))}"
        )


def _not_finite(arrays: Mapping[str, Any], gaps: Iterable[str] = ()) -> list[str]:
    """Names of arrays that hold what is not finite, except those of some patterns."""
    import numpy as np

    return [
        name
        for name, values in arrays.items()
        if not any(fnmatch(name, pattern) for pattern in gaps)
        and np.asarray(values).dtype.kind in "fc"
        and not np.isfinite(values).all()
    ]


def _by_seed(arrays: Any, work: Work) -> Any:
    """Refuse arrays whose first axis is not the seed, where there are seeds."""
    wrong = [name for name, values in arrays.items() if len(work.seeds) not in {0, len(values)}]
    if wrong:
        raise InputError(
            f"{work.order.program}.{work.order.function}: {wrong[0]} has not a value for every seed"
        )
    return arrays


if __name__ == "__main__":
    main()
