"""The stages of a study: each makes one file from the inputs of a step, from data to the page."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from pydantic import TypeAdapter

from replication.base.errors import InputError, UnmeasurableError, WrongTableError
from replication.base.keys import KEY, digest
from replication.base.storage import (
    checksum_text,
    read_arrays,
    read_csv,
    read_note,
    read_table,
    refuse_changed_table,
    write_arrays,
    write_csv,
    write_json,
    write_stamped,
    write_table,
    write_text,
)
from replication.base.strict import shorten
from replication.plan.steps import Role, Step, provenance
from replication.run.checkpoint import Checkpoint
from replication.study.claims import Row
from replication.study.contract import Measured, Run
from replication.study.published_tables import check_published_table
from replication.study.seeds import format_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Function = Callable[..., Any]
"""Function of a study, which makes the content of a file."""
GAPS = "gaps"
"""Note on a metric: the seeds of whose runs an array is not finite, by name of the array."""


def make_output(step: Step) -> None:
    """Make the file of one step; an `InputError` names the input and the mistake in it."""
    STAGES[step.stage](step, getattr(import_module(step.program), step.function))


def _make_data(step: Step, sample: Function) -> None:
    sources = [item.file for item in step.of_role("source")]
    arrays = sample(parse_settings(sample, step.settings), [*step.seeds], sources)
    _refuse_other_axis(step, arrays)
    if wrong := not_finite(arrays, step.seeds):
        raise InputError(
            f"{step.file}: has numbers that are not finite, in the array(s) {', '.join(wrong)};"
            " correct what they are made from, or their settings"
        )
    write_arrays(step.file, arrays, provenance(step))


def _make_runs(step: Step, train: Function) -> None:
    # Another key, so that neither a checkpoint nor a whole run is taken for the other.
    under_way = provenance(step) | {KEY: f"{step.key}, under way"}
    checkpoint = Checkpoint(step.file.with_suffix(".checkpoint"), under_way)
    data = [file.arrays for file in read_runs(step, "data")]
    arrays = train(parse_settings(train, step.settings), [*step.seeds], data, checkpoint)
    _refuse_other_axis(step, arrays)
    if wrong := not_finite(arrays, step.seeds, step.gaps):
        seeds = format_seeds(sorted(set().union(*wrong.values())))
        said = (
            f"{step.file}: has numbers{seeds and f' of seed {seeds}'} that are not finite, in"
            f" the array(s) {', '.join(wrong)}, as after a training that diverged"
        )
        if not seeds:
            raise InputError(f"{said}; lower its learning rate")
        click.echo(f"{said}; no claim takes them", err=True)
    write_arrays(step.file, arrays, provenance(step))
    checkpoint.remove()


def _make_metrics(step: Step, measure: Function) -> None:
    data = [file.arrays for file in read_runs(step, "data")]
    settings = parse_settings(measure, step.settings)
    gaps: dict[str, list[int]] = {}
    runs = _noting_gaps(read_runs(step, "runs"), gaps)
    try:
        table = measure(settings, runs, data)
    except KeyError as error:
        name = getattr(settings, "metric", None)
        if error.args != (name,):
            raise
        raise InputError(
            f"metric {name}: `{step.function}` of {step.program} has none of this name;"
            " add it there, or take it out of METRICS in study.py"
        ) from error
    for _ in runs:
        pass  # a metric may leave runs unread
    notes = {GAPS: json.dumps(gaps, sort_keys=True)} if gaps else None
    _write_returned(step, f"metric {step.file.stem}", table, ("seed",), notes)


def _noting_gaps(runs: Iterable[Run], gaps: dict[str, list[int]]) -> Iterator[Run]:
    """Yield runs, and note the seeds of which an array is not finite, by name of the array."""
    for run in runs:
        for name, lost in not_finite(run.arrays, run.seeds).items():
            gaps[name] = sorted({*gaps.get(name, []), *lost})
        yield run


def _make_table(step: Step, tabulate: Function) -> None:
    figure = parse_settings(tabulate, step.settings["figure"])
    table = tabulate(figure, *_read_tables(step, {}), **_used_settings(step, tabulate))
    _refuse_missing_columns(step, f"figure {step.file.stem}", table, figure.columns)
    if table.empty:
        raise InputError(
            f"figure {step.file.stem}: none of its values was measured; change its settings"
            " or those of its experiments"
        )
    write_csv(step.file, table)
    write_text(step.beside, checksum_text(step.file, provenance(step)))


def _make_figure(step: Step, draw: Function) -> None:
    from replication.figures.style import set_style

    table, kept = (next(step.of_role(role)).file for role in ("table", "checksum"))
    refuse_changed_table(table, kept, step.inputs[0].key)
    figure = parse_settings(draw, step.settings["figure"])
    published = next(_read_published(step, figure.published_columns), None)
    set_style()
    write_figure(step, draw(figure, read_csv(table, figure.columns), published), figure.title)


def write_figure(step: Step, drawn: "Figure", title: str) -> None:
    """Write the figure that the function of a step has drawn."""
    from replication.figures.style import save_figure, tell_nothing, write_note

    tell_nothing(drawn)
    if unlike := step.settings.get("unlike_published"):
        click.echo(f"{step.file} shows no published values: {unlike}", err=True)
        write_note(drawn, f"No published values, as the settings differ from theirs: {unlike}")
    subject = f"{step.file.stem}; made from {step.key}; seeds {format_seeds(step.seeds) or 'none'}"
    content = BytesIO()
    save_figure(drawn, content, step.file.suffix.removeprefix("."), title, subject)
    write_stamped(step.file, content.getvalue(), step.key)


def _make_evidence(step: Step, evidence: Function) -> None:
    from pandas.errors import UndefinedVariableError

    try:
        table = _measured_evidence(step, evidence)
        _write_returned(step, f"claim {step.file.stem}", table, ("cell", "value"))
    except UnmeasurableError as error:
        from replication.judge.comparisons import missing_evidence

        click.echo(f"claim {step.file.stem} is not tested: {error.message}", err=True)
        write_table(step.file, missing_evidence(error.message), provenance(step))
    except (AttributeError, KeyError, UndefinedVariableError) as error:
        # The columns of metrics whose settings are of one type are known only now.
        read = ", ".join(item.path for item in step.of_role("metrics"))
        raise InputError(
            f"claim {step.file.stem}: {_named(step)} cannot read {read} ({type(error).__name__}:"
            f" {error}); mend the name of the column, or name the metrics that it reads under"
            " `data` of the claim"
        ) from error


def _measured_evidence(step: Step, evidence: Function) -> Any:
    """Return the evidence of a claim, without numbers that depend on trainings that diverged.

    These are the numbers that change if rows of such a training are left out. An
    `UnmeasurableError` if the rest does not suffice.
    """
    if unlike := step.settings.get("unlike_published"):
        raise UnmeasurableError(f"the settings differ from those that were published: {unlike}")
    words = step.settings["evidence"]
    # A function that stands alone, without other words of a row, has its name here.
    row = {} if isinstance(words, str) else words
    published = [*_read_published(step)]
    given = {**_used_settings(step, evidence), **row.get("with", {})}

    def measure(left_out: Mapping[str, list[int]]) -> Any:
        found = evidence(*_read_tables(step, left_out), *published, **given)
        return _contrast(step, row, found) if "value" in row else found

    lost = _diverged(step)
    if not lost:
        return measure({})

    from replication.judge.comparisons import diverged_in_words, without_diverged

    why = diverged_in_words(lost)
    failures = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        whole = measure({})
    except UnmeasurableError as error:
        raise UnmeasurableError(f"{why}; {error.message}") from error
    except failures as error:
        raise UnmeasurableError(f"{why}, and the claim cannot be measured with it") from error
    _refuse_missing_columns(step, f"claim {step.file.stem}", whole, ("cell", "value"))
    try:
        left = measure(lost)
    except (UnmeasurableError, *failures):
        left = None
    return without_diverged(whole, left, lost)


def _contrast(step: Step, words: dict[str, Any], table: Any) -> Any:
    """Return the evidence that a claim's words make of the table of its function."""
    from replication.study.vocabulary import contrast

    where = f"claim {step.file.stem}"
    _refuse_missing_columns(step, where, table, ())
    try:
        return contrast(Row.parse(words, where), table)
    except UnmeasurableError:
        raise
    except InputError as error:
        raise InputError(f"{where}: {error.message}") from error


def _diverged(step: Step) -> dict[str, list[int]]:
    """Return the seeds whose training diverged, by experiment, of the metrics that a claim reads.

    An array of their runs is not finite that may have no gaps, as the study says now.
    """
    lost = {}
    for item in step.of_role("metrics"):
        noted: dict[str, list[int]] = json.loads(read_note(item.file, GAPS) or "{}")
        experiment = item.file.parent.name
        allowed = step.settings.get("gaps", {}).get(experiment, ())
        if seeds := {seed for name in noted if not _fits(name, allowed) for seed in noted[name]}:
            lost[experiment] = sorted(seeds)
    return lost


def _make_verdict(step: Step, judge: Function) -> None:
    evidence = [read_table(item.file, item.key) for item in step.inputs]
    verdict = judge(parse_settings(judge, step.settings), evidence)
    made = provenance(step)
    made["settings"] = digest(made["settings"])
    write_json(step.file, verdict.model_dump(mode="json"), made)


def _make_scorecard(step: Step, write: Function) -> None:
    verdicts = [item.file for item in step.of_role("verdict")]
    write(step.settings, verdicts, provenance(step), step.file, step.beside)


STAGES: dict[str, Callable[[Step, Function], None]] = {
    "data": _make_data,
    "runs": _make_runs,
    "metrics": _make_metrics,
    "table": _make_table,
    "figure": _make_figure,
    "evidence": _make_evidence,
    "verdict": _make_verdict,
    "scorecard": _make_scorecard,
    "page": lambda step, write: write(step),
    "index": lambda step, write: write(step),
}
"""Functions that make the output of a step with the function of the study, by stage."""


def parse_settings(function: Function, data: Any) -> Any:
    """Return plain data as the type of a function's first parameter, or refuse them in words."""
    kind = next(iter(inspect.signature(function).parameters.values())).annotation
    if not hasattr(kind, "parse"):
        raise InputError(
            f"{function.__module__}: the first parameter of {function.__name__} needs a class, a"
            " `Strict`, not its name in quotes"
        )
    return kind.parse(data, f"settings of {function.__module__}")


def _used_settings(step: Step, function: Function) -> dict[str, Any]:
    """Return the keys of the study's section that the function takes, as its parameters' types."""
    parameters = inspect.signature(function).parameters
    return {
        name: TypeAdapter(parameters[name].annotation).validate_python(value)
        for name, value in step.settings["uses"].items()
    }


def read_runs(step: Step, role: Role) -> Iterator[Run]:
    """Yield the input files of arrays that have one role, read and checked."""
    for item in step.of_role(role):
        yield Run(item.file.stem, [*item.seeds], read_arrays(item.file, item.key))


def _read_tables(step: Step, left_out: Mapping[str, list[int]]) -> Iterator[Any]:
    """Yield the verdicts that a step reads, then the metrics, with the settings that made them.

    Rows of some seeds, by experiment, are left out.
    """
    from replication.judge.scorecard import read_verdict

    for item in step.of_role("verdict"):
        yield read_verdict(item.file)
    for item in step.of_role("metrics"):
        table = read_table(item.file, item.key)
        if seeds := left_out.get(item.file.parent.name):
            table = table[~table["seed"].isin(seeds)].reset_index(drop=True)
        measure = import_module(item.program).measure
        yield Measured(table, parse_settings(measure, item.settings))


def _read_published(step: Step, columns: tuple[str, ...] = ()) -> Iterator[Any]:
    """Yield the published tables; they are checked, as they may have changed since the plan."""
    for item in step.of_role("published"):
        check_published_table(item.file, columns)
        yield read_csv(item.file, columns)


def _write_returned(
    step: Step,
    made: str,
    table: Any,
    columns: Sequence[str],
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write the table that the study's function returned.

    A `WrongTableError` if it is no table, lacks columns, or has values that no file can hold.
    """
    _refuse_missing_columns(step, made, table, columns)
    try:
        write_table(step.file, table, provenance(step), notes)
    except (TypeError, ValueError) as error:
        raise WrongTableError(
            f"{_named(step)}: the table of the {made} cannot be kept ({shorten(error, 200)});"
            " every column needs a name of its own, and values of one type"
        ) from error


def _refuse_missing_columns(step: Step, made: str, table: Any, columns: Sequence[str]) -> None:
    """Refuse what is no table, or lacks columns, before a later job fails on it."""
    from pandas import DataFrame

    if not isinstance(table, DataFrame):
        raise WrongTableError(
            f"{_named(step)}: returns {type(table).__name__} for the {made}, but a pandas table"
            f" is needed, with the column(s) {', '.join(columns)}"
        )
    if missing := [name for name in columns if name not in table.columns]:
        raise WrongTableError(
            f"{_named(step)}: the table of the {made} lacks the column(s) {', '.join(missing)}; it"
            f" has {', '.join(map(str, table.columns))}"
        )


def _refuse_other_axis(step: Step, arrays: Mapping[str, Any]) -> None:
    """Refuse arrays whose first axis is not the seed, where there are seeds."""
    for name, values in arrays.items():
        if len(step.seeds) not in {0, len(values)}:
            raise InputError(f"{_named(step)}: {name} has not a value for every seed")


def _named(step: Step) -> str:
    """Return the full name of the study's function that does a job."""
    return f"{step.program}.{step.function}"


def not_finite(
    arrays: Mapping[str, Any], seeds: Sequence[int], gaps: Iterable[str] = ()
) -> dict[str, list[int]]:
    """Return the seeds with values that are not finite, by array; arrays of some patterns aside."""
    found = {}
    for name, values in arrays.items():
        numbers = np.atleast_1d(values)
        if numbers.dtype.kind not in "fc" or _fits(name, gaps):
            continue
        finite = np.isfinite(numbers)
        if not finite.all():
            found[name] = [seed for seed, own in zip(seeds, finite, strict=False) if not own.all()]
    return found


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)
