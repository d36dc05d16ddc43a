"""The stages of a study: the functions that make one file each, from data to verdict."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replication.base.errors import InputError, UnmeasurableError, WrongTableError
from replication.base.provenance import digest
from replication.base.stamp import stamped
from replication.base.strict import shorten
from replication.plan.orders import Order
from replication.plan.stale_files import checksum, checksum_text, file_key
from replication.run.work import (
    GAPS,
    Work,
    diverged_seeds,
    given_files,
    parse_settings,
    read_published,
    read_runs,
    read_tables,
    refuse_changed_table,
    required_recipe,
    used_settings,
    without_gaps,
)
from replication.study.contract import Run
from replication.study.seeds import format_seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replication.run.checkpoint import Checkpoint


def _make_data(work: Work) -> None:
    from replication.base.storage import write_arrays

    arrays = _with_seed_axis(work.function(work.settings, work.seeds, work.paths("source")), work)
    if wrong := _not_finite(arrays):
        raise InputError(
            f"{work.output}: has numbers that are not finite, in the array(s) {', '.join(wrong)};"
            " correct what they are made from, or their settings"
        )
    write_arrays(work.output, arrays, work.provenance)


def _make_runs(work: Work) -> None:
    from replication.base.storage import write_arrays
    from replication.run.checkpoint import Checkpoint

    # Another program name, so that neither a checkpoint nor a whole run is taken for the other. The
    # checksums of the data are there because recipes do not name the source files.
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
    data = [file.arrays for file in read_runs(work, "data")]
    arrays = _with_seed_axis(_train(work, data, checkpoint), work)
    if wrong := _not_finite(arrays, work.order.gaps):
        seeds = format_seeds(_diverged(work.seeds, {name: arrays[name] for name in wrong}))
        said = (
            f"{work.output}: has numbers{seeds and f' of seed {seeds}'} that are not finite, in the"
            f" array(s) {', '.join(wrong)}, as after a training that diverged"
        )
        if not seeds:
            raise InputError(f"{said}; lower its learning rate")
        click.echo(f"{said}; no claim takes them", err=True)
    write_arrays(work.output, arrays, work.provenance)
    checkpoint.remove()


class _Resumable:
    """A checkpoint that remembers whether a training is about to go on from it."""

    def __init__(self, checkpoint: "Checkpoint", gaps: list[str]) -> None:
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


def _train(work: Work, data: list[Any], checkpoint: _Resumable) -> Any:
    """Return the arrays of a training, from the beginning if it cannot go on from a checkpoint.

    A kept array that is missing, or has another shape, makes a training fail in any way.
    """
    try:
        return work.function(work.settings, work.seeds, data, checkpoint)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        if not checkpoint.is_tried:
            raise
        click.echo(f"starting anew: the checkpoint does not suffice ({shorten(error)})", err=True)
    checkpoint.is_refused = True
    return work.function(work.settings, work.seeds, data, checkpoint)


def _make_metrics(work: Work) -> None:
    data = [file.arrays for file in read_runs(work, "data")]
    gaps: dict[str, list[int]] = {}
    runs = _noting_gaps(read_runs(work, "runs"), gaps)
    try:
        table = work.function(work.settings, runs, data)
    except KeyError as error:
        name = getattr(work.settings, "metric", None)
        if error.args != (name,):
            raise
        raise InputError(
            f"metric {name}: `{work.order.function}` of {work.order.program} has none of this name;"
            " add it there, or take it out of METRICS in study.py"
        ) from error
    for _ in runs:
        pass  # a metric may leave runs unread
    notes = {GAPS: json.dumps(gaps, sort_keys=True)} if gaps else None
    _write_returned(work, f"metric {work.output.stem}", table, ("seed",), notes)


def _noting_gaps(runs: Iterable[Run], gaps: dict[str, list[int]]) -> Iterator[Run]:
    """Yield runs, and note the seeds of which an array is not finite, by name of the array."""
    for run in runs:
        for name in _not_finite(run.arrays):
            lost = _diverged(run.seeds, {name: run.arrays[name]})
            gaps[name] = sorted({*gaps.get(name, []), *lost})
        yield run


def _make_table(work: Work) -> None:
    from replication.base.storage import write_text
    from replication.base.tables import write_csv

    figure = parse_settings(work.function, work.order.settings["figure"])
    table = work.function(figure, *read_tables(work), **used_settings(work))
    _refuse_missing_columns(work, f"figure {work.output.stem}", table, figure.columns)
    if table.empty:
        raise InputError(
            f"figure {work.output.stem}: none of its values was measured; change its settings"
            " or those of its experiments"
        )
    write_csv(work.output, table)
    if work.checksum:
        write_text(work.checksum, checksum_text(work.output, work.provenance))


def _make_figure(work: Work) -> None:
    from replication.base.tables import read_csv
    from replication.figures.style import set_style

    (table,) = work.paths("table")
    if work.checksum:
        refuse_changed_table(table, work.checksum, work.given[0].mark)
    figure = parse_settings(work.function, work.order.settings["figure"])
    known = read_published(work, figure.published_columns)
    set_style()
    drawn = work.function(figure, read_csv(table, figure.columns), known[0] if known else None)
    write_figure(work, drawn)


def write_figure(work: Work, drawn: "Figure") -> None:
    """Write the figure that the function of a job has drawn."""
    from replication.base.storage import write_atomically
    from replication.figures.layout import settle
    from replication.figures.nothing import tell_nothing
    from replication.figures.style import save_figure, write_note

    tell_nothing(drawn)
    if unlike := work.order.settings.get("unlike_published"):
        click.echo(f"{work.output} shows no published values: {unlike}", err=True)
        settle(drawn)
        write_note(drawn, f"No published values, as the settings differ from theirs: {unlike}")
    kind = work.output.suffix.removeprefix(".")
    key = file_key(work.provenance, work.order.planned_with)
    subject = f"{work.output.stem}; made from {key}; seeds {work.order.seeds or 'none'}"
    title = parse_settings(work.function, work.order.settings["figure"]).title
    content = BytesIO()
    save_figure(drawn, content, kind, title, subject)
    whole = stamped(content.getvalue(), work.output.suffix, key)
    write_atomically(work.output, lambda stream: stream.write(whole))


def _make_evidence(work: Work) -> None:
    from pandas.errors import UndefinedVariableError

    from replication.base.tables import write_table

    try:
        if unlike := work.order.settings.get("unlike_published"):
            raise UnmeasurableError(f"the settings differ from those that were published: {unlike}")
        table = _measured_evidence(work)
        _write_returned(work, f"claim {work.output.stem}", table, ("cell", "value"))
    except UnmeasurableError as error:
        from replication.judge.comparisons import missing_evidence

        click.echo(f"claim {work.output.stem} is not tested: {error.message}", err=True)
        write_table(work.output, missing_evidence(error.message), work.provenance)
    except (KeyError, UndefinedVariableError) as error:
        # The columns of metrics whose settings are of one type are known only now.
        raise InputError(
            f"claim {work.output.stem}: {work.order.program}.{work.order.function} cannot read"
            f" {', '.join(map(str, work.paths('metrics')))} ({type(error).__name__}:"
            f" {error}); mend the name of the column, or name the metrics that it reads under"
            " `data` of the claim"
        ) from error


def _measured_evidence(work: Work) -> Any:
    """Return the evidence of a claim, without numbers that depend on trainings that diverged.

    These are the numbers that change if rows of such a training are left out.

    Raises:
        UnmeasurableError: if what is left does not suffice.
    """
    metrics = (item for item in work.given if item.role == "metrics")
    lost = {item.experiment: seeds for item in metrics if (seeds := diverged_seeds(item))}
    published, uses = read_published(work), used_settings(work)
    if not lost:
        return work.function(*read_tables(work), *published, **uses)

    from replication.judge.comparisons import diverged_in_words, without_diverged

    why = diverged_in_words(lost)
    failures = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        whole = work.function(*read_tables(work), *published, **uses)
    except UnmeasurableError as error:
        raise UnmeasurableError(f"{why}; {error.message}") from error
    except failures as error:
        raise UnmeasurableError(f"{why}, and the claim cannot be measured with it") from error
    _refuse_missing_columns(work, f"claim {work.output.stem}", whole, ("cell", "value"))
    try:
        left = work.function(*read_tables(work, without_diverged=True), *published, **uses)
    except (UnmeasurableError, *failures):
        left = None
    return without_diverged(whole, left, lost)


def _make_verdict(work: Work) -> None:
    from replication.base.tables import read_table
    from replication.judge.scorecard import write_verdict

    evidence = [read_table(item.path, required_recipe(item), item.seeds) for item in work.given]
    verdict = work.function(work.settings, evidence)
    made = work.provenance
    made["settings"] = digest(made["settings"])
    write_verdict(work.output, verdict, made)


STAGES: dict[str, Callable[[Work], None]] = {
    "data": _make_data,
    "runs": _make_runs,
    "metrics": _make_metrics,
    "table": _make_table,
    "figure": _make_figure,
    "evidence": _make_evidence,
    "verdict": _make_verdict,
}
"""Functions that make the output of a job, by stage."""


def make_output(work: Work) -> None:
    """Make the file of one job.

    Raises:
        InputError: names the input and the mistake in it.
    """
    STAGES[work.order.stage](work)


def draw_figure(
    order: Order, table: Path, checked: Path, published: Sequence[Path], output: Path
) -> None:
    """Draw a figure here and now, from a table that may stand anywhere.

    Args:
        order: the figure's job.
        table: the numbers that it draws.
        checked: file with the digest of the table's content.
        published: published tables.
        output: the picture's file; its ending says the kind of picture.

    Raises:
        InputError: names the input and the mistake in it.
    """
    given = list(given_files(order.inputs, [table, *published]))
    make_output(Work(order, given, output, checked))


def _write_returned(
    work: Work,
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

    _refuse_missing_columns(work, made, table, columns)
    try:
        write_table(work.output, table, work.provenance, notes)
    except (TypeError, ValueError) as error:
        raise WrongTableError(
            f"{_named(work)}: the table of the {made} cannot be kept ({shorten(error, 200)}); every"
            " column needs a name of its own, and values of one type"
        ) from error


def _refuse_missing_columns(work: Work, made: str, table: Any, columns: Sequence[str]) -> None:
    """Refuse what is no table, or lacks columns, before a later job fails on it."""
    from pandas import DataFrame

    if not isinstance(table, DataFrame):
        raise WrongTableError(
            f"{_named(work)}: returns {type(table).__name__} for the {made}, but a pandas table"
            f" is needed, with the column(s) {', '.join(columns)}"
        )
    if missing := [name for name in columns if name not in table.columns]:
        raise WrongTableError(
            f"{_named(work)}: the table of the {made} lacks the column(s) {', '.join(missing)}; it"
            f" has {', '.join(map(str, table.columns))}"
        )


def _named(work: Work) -> str:
    """Return the full name of the study's function that does a job."""
    return f"{work.order.program}.{work.order.function}"


def _not_finite(arrays: Mapping[str, Any], gaps: Iterable[str] = ()) -> list[str]:
    """Return the names of arrays with values that are not finite, except those of some patterns."""
    import numpy as np

    return [
        name
        for name in without_gaps(arrays, gaps)
        if np.asarray(arrays[name]).dtype.kind in "fc" and not np.isfinite(arrays[name]).all()
    ]


def seeds_not_finite(work: Work) -> str:
    """Return the seeds of a metric's runs with values that are not finite, as a compact text."""
    runs = read_runs(work, "runs") if work.order.stage == "metrics" else []
    return format_seeds(sorted(seed for run in runs for seed in _diverged(run.seeds, run.arrays)))


def _diverged(seeds: Sequence[int], arrays: Mapping[str, Any]) -> list[int]:
    """Return the seeds, along the first axis, of which an array has values that are not finite."""
    return [
        seed
        for at, seed in enumerate(seeds)
        if _not_finite({name: values[at] for name, values in arrays.items()})
    ]


def _with_seed_axis(arrays: Any, work: Work) -> Any:
    """Return arrays; refuse those whose first axis is not the seed, where there are seeds."""
    wrong = [name for name, values in arrays.items() if len(work.seeds) not in {0, len(values)}]
    if wrong:
        raise InputError(
            f"{work.order.program}.{work.order.function}: {wrong[0]} has not a value for every seed"
        )
    return arrays
