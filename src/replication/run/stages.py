"""The stages of a study: the functions that make one file each, from data to the page."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import click

from replication.base.errors import InputError, UnmeasurableError, WrongTableError
from replication.base.provenance import KEY, digest
from replication.base.stamp import stamped
from replication.base.strict import shorten
from replication.plan.keys_in_files import checksum_text, refuse_changed_table
from replication.plan.steps import Step, provenance
from replication.run.work import (
    GAPS,
    diverged_seeds,
    function_of,
    parse_settings,
    read_published,
    read_runs,
    read_tables,
    settings_of,
    used_settings,
    without_gaps,
)
from replication.study.contract import Run
from replication.study.seeds import format_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replication.run.checkpoint import Checkpoint


def _make_data(step: Step) -> None:
    from replication.base.storage import write_arrays

    arrays = _with_seed_axis(
        function_of(step)(
            settings_of(step), [*step.seeds], [item.file for item in step.of_role("source")]
        ),
        step,
    )
    if wrong := _not_finite(arrays):
        raise InputError(
            f"{step.file}: has numbers that are not finite, in the array(s) {', '.join(wrong)};"
            " correct what they are made from, or their settings"
        )
    write_arrays(step.file, arrays, provenance(step))


def _make_runs(step: Step) -> None:
    from replication.base.storage import write_arrays
    from replication.run.checkpoint import Checkpoint

    # Another key, so that neither a checkpoint nor a whole run is taken for the other.
    under_way = provenance(step) | {KEY: f"{step.key}, under way"}
    kept = step.file.with_suffix(".checkpoint")
    if kept.is_dir():
        raise InputError(
            f"{kept}: is a folder, but a long training keeps a file of this name; remove it and run"
            " again"
        )
    checkpoint = _Resumable(Checkpoint(kept, under_way), step.gaps)
    data = [file.arrays for file in read_runs(step, "data")]
    arrays = _with_seed_axis(_train(step, data, checkpoint), step)
    if wrong := _not_finite(arrays, step.gaps):
        seeds = format_seeds(_diverged(step.seeds, {name: arrays[name] for name in wrong}))
        said = (
            f"{step.file}: has numbers{seeds and f' of seed {seeds}'} that are not finite, in"
            f" the array(s) {', '.join(wrong)}, as after a training that diverged"
        )
        if not seeds:
            raise InputError(f"{said}; lower its learning rate")
        click.echo(f"{said}; no claim takes them", err=True)
    write_arrays(step.file, arrays, provenance(step))
    checkpoint.remove()


class _Resumable:
    """A checkpoint that remembers whether a training is about to go on from it."""

    def __init__(self, checkpoint: "Checkpoint", gaps: Iterable[str]) -> None:
        self._checkpoint, self._gaps = checkpoint, gaps
        self.is_tried = self.is_refused = False

    def read(self) -> dict[str, Any] | None:
        """Return the kept state; None if it is refused, missing or not finite."""
        found = None if self.is_refused else self._checkpoint.read()
        if found and (wrong := _not_finite(found, self._gaps)):
            names = ", ".join(wrong)
            click.echo(f"starting anew: the checkpoint is not finite, in {names}", err=True)
            found = None
        self.is_tried = found is not None
        return found

    def is_due(self) -> bool:
        """Say whether the state should be kept now; a training asks after every step."""
        self.is_tried = False
        return self._checkpoint.is_due()

    def write(self, arrays: Any) -> None:
        """Keep a state of the training in the checkpoint."""
        self._checkpoint.write(arrays)

    def remove(self) -> None:
        """Remove the state of a run that is over."""
        self._checkpoint.remove()


def _train(step: Step, data: list[Any], checkpoint: _Resumable) -> Any:
    """Return the arrays of a training, from the beginning if it cannot go on from a checkpoint.

    A kept array that is missing, or has another shape, makes a training fail in any way.
    """
    try:
        return function_of(step)(settings_of(step), [*step.seeds], data, checkpoint)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        if not checkpoint.is_tried:
            raise
        click.echo(f"starting anew: the checkpoint does not suffice ({shorten(error)})", err=True)
    checkpoint.is_refused = True
    return function_of(step)(settings_of(step), [*step.seeds], data, checkpoint)


def _make_metrics(step: Step) -> None:
    data = [file.arrays for file in read_runs(step, "data")]
    gaps: dict[str, list[int]] = {}
    runs = _noting_gaps(read_runs(step, "runs"), gaps)
    try:
        table = function_of(step)(settings_of(step), runs, data)
    except KeyError as error:
        name = getattr(settings_of(step), "metric", None)
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
        for name in _not_finite(run.arrays):
            lost = _diverged(run.seeds, {name: run.arrays[name]})
            gaps[name] = sorted({*gaps.get(name, []), *lost})
        yield run


def _make_table(step: Step) -> None:
    from replication.base.storage import write_text
    from replication.base.tables import write_csv

    figure = parse_settings(function_of(step), step.settings["figure"])
    table = function_of(step)(figure, *read_tables(step), **used_settings(step))
    _refuse_missing_columns(step, f"figure {step.file.stem}", table, figure.columns)
    if table.empty:
        raise InputError(
            f"figure {step.file.stem}: none of its values was measured; change its settings"
            " or those of its experiments"
        )
    write_csv(step.file, table)
    write_text(step.beside, checksum_text(step.file, provenance(step)))


def _make_figure(step: Step) -> None:
    from replication.base.tables import read_csv
    from replication.figures.style import set_style

    (table,), (kept,) = (
        [item.file for item in step.of_role(role)] for role in ("table", "checksum")
    )
    refuse_changed_table(table, kept, step.inputs[0].key)
    figure = parse_settings(function_of(step), step.settings["figure"])
    known = read_published(step, figure.published_columns)
    set_style()
    drawn = function_of(step)(figure, read_csv(table, figure.columns), known[0] if known else None)
    write_figure(step, drawn)


def write_figure(step: Step, drawn: "Figure") -> None:
    """Write the figure that the function of a job has drawn."""
    from replication.base.storage import write_atomically
    from replication.figures.style import save_figure, tell_nothing, write_note

    tell_nothing(drawn)
    if unlike := step.settings.get("unlike_published"):
        click.echo(f"{step.file} shows no published values: {unlike}", err=True)
        write_note(drawn, f"No published values, as the settings differ from theirs: {unlike}")
    kind = step.file.suffix.removeprefix(".")
    subject = f"{step.file.stem}; made from {step.key}; seeds {format_seeds(step.seeds) or 'none'}"
    title = parse_settings(function_of(step), step.settings["figure"]).title
    content = BytesIO()
    save_figure(drawn, content, kind, title, subject)
    whole = stamped(content.getvalue(), step.file.suffix, step.key)
    write_atomically(step.file, lambda stream: stream.write(whole))


def _make_evidence(step: Step) -> None:
    from pandas.errors import UndefinedVariableError

    from replication.base.tables import write_table

    try:
        if unlike := step.settings.get("unlike_published"):
            raise UnmeasurableError(f"the settings differ from those that were published: {unlike}")
        table = _measured_evidence(step)
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


def _measured_evidence(step: Step) -> Any:
    """Return the evidence of a claim, without numbers that depend on trainings that diverged.

    These are the numbers that change if rows of such a training are left out.

    Raises:
        UnmeasurableError: if what is left does not suffice.
    """
    metrics = {item.file.parent.name: item for item in step.of_role("metrics")}
    lost = {name: seeds for name, item in metrics.items() if (seeds := diverged_seeds(step, item))}
    published, uses = read_published(step), used_settings(step)
    if not lost:
        return function_of(step)(*read_tables(step), *published, **uses)

    from replication.judge.comparisons import diverged_in_words, without_diverged

    why = diverged_in_words(lost)
    failures = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        whole = function_of(step)(*read_tables(step), *published, **uses)
    except UnmeasurableError as error:
        raise UnmeasurableError(f"{why}; {error.message}") from error
    except failures as error:
        raise UnmeasurableError(f"{why}, and the claim cannot be measured with it") from error
    _refuse_missing_columns(step, f"claim {step.file.stem}", whole, ("cell", "value"))
    try:
        left = function_of(step)(*read_tables(step, without_diverged=True), *published, **uses)
    except (UnmeasurableError, *failures):
        left = None
    return without_diverged(whole, left, lost)


def _make_verdict(step: Step) -> None:
    from replication.base.tables import read_table
    from replication.judge.scorecard import write_verdict

    evidence = [read_table(item.file, item.key) for item in step.inputs]
    verdict = function_of(step)(settings_of(step), evidence)
    made = provenance(step)
    made["settings"] = digest(made["settings"])
    write_verdict(step.file, verdict, made)


def _make_scorecard(step: Step) -> None:
    verdicts = [item.file for item in step.of_role("verdict")]
    function_of(step)(step.settings, verdicts, provenance(step), step.file, step.beside)


def _make_page(step: Step) -> None:
    function_of(step)(step)


STAGES: dict[str, Callable[[Step], None]] = {
    "data": _make_data,
    "runs": _make_runs,
    "metrics": _make_metrics,
    "table": _make_table,
    "figure": _make_figure,
    "evidence": _make_evidence,
    "verdict": _make_verdict,
    "scorecard": _make_scorecard,
    "page": _make_page,
    "index": _make_page,
}
"""Functions that make the output of a job, by stage."""


def make_output(step: Step) -> None:
    """Make the file of one job; an `InputError` names the input and the mistake in it."""
    STAGES[step.stage](step)


def _write_returned(
    step: Step,
    made: str,
    table: Any,
    columns: Sequence[str],
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write the table that the study's function returned.

    Raises:
        WrongTableError: if it is no table, lacks columns, or has values that no file can hold.
    """
    from replication.base.tables import write_table

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


def _named(step: Step) -> str:
    """Return the full name of the study's function that does a job."""
    return f"{step.program}.{step.function}"


def _not_finite(arrays: Mapping[str, Any], gaps: Iterable[str] = ()) -> list[str]:
    """Return the names of arrays with values that are not finite, except those of some patterns."""
    import numpy as np

    return [
        name
        for name in without_gaps(arrays, gaps)
        if np.asarray(arrays[name]).dtype.kind in "fc" and not np.isfinite(arrays[name]).all()
    ]


def seeds_not_finite(step: Step) -> str:
    """Return the seeds of a metric's runs with values that are not finite, as a compact text."""
    runs = read_runs(step, "runs") if step.stage == "metrics" else []
    return format_seeds(sorted(seed for run in runs for seed in _diverged(run.seeds, run.arrays)))


def _diverged(seeds: Sequence[int], arrays: Mapping[str, Any]) -> list[int]:
    """Return the seeds, along the first axis, of which an array has values that are not finite."""
    return [
        seed
        for at, seed in enumerate(seeds)
        if _not_finite({name: values[at] for name, values in arrays.items()})
    ]


def _with_seed_axis(arrays: Any, step: Step) -> Any:
    """Return arrays; refuse those whose first axis is not the seed, where there are seeds."""
    wrong = [name for name, values in arrays.items() if len(step.seeds) not in {0, len(values)}]
    if wrong:
        raise InputError(
            f"{step.program}.{step.function}: {wrong[0]} has not a value for every seed"
        )
    return arrays
