"""Conformance of a study: what every folder must do to be computed, judged and drawn.

    def test_my_study(tmp_path):
        check_study(find_studies()["mypaper"], tmp_path)

The study is computed at its smallest scale and goes through all of `CHECKS`. To have a test per
check, compute it once with `Small.computed`, and call the checks with it. `Small.is_quick` says
what quick checks leave out.
"""

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import OUT_OF_REGIME, InputError
from replication.base.storage import read_arrays
from replication.base.strict import Strict
from replication.base.tables import read_csv, read_table
from replication.documents.figure_texts import CitedFigure
from replication.documents.methods import unknown_settings, unnamed_settings
from replication.documents.typed_numbers import typed_numbers_in_template
from replication.figures.marks import unknown_marks
from replication.judge.judgement import UNMEASURED
from replication.judge.scorecard import read_verdict
from replication.plan.configuration import configure, merged
from replication.plan.jobs import Jobs
from replication.plan.metric_types import refuse_unreadable
from replication.plan.orders import TOLD, Order, Orders, Told
from replication.plan.study_jobs import StudyJobs
from replication.plan.tasks import Task
from replication.run.program import Work, given_files, parsed, write_figure
from replication.study.contract import Study
from replication.study.registry import Statistical
from replication.verify.reference import collect_fingerprints, run_keys

RUN = """
import json, os, sys
from replication.base.errors import InputError
from replication.run.program import main
for line in sys.stdin:
    folder, jobs = json.loads(line)
    os.chdir(folder)
    for arguments in jobs:
        try:
            main.main(arguments, standalone_mode=False)
        except InputError as error:
            sys.exit(f"{arguments[2]}: {error.message}")
    print("\\n", DONE, sep="", flush=True)
"""
DONE = "all of them are made"
"""Line with which the process that makes files answers."""
LONGEST_ANSWER = 1000
"""Characters of what a failed job says."""
SHOWN = 3
"""Examples that a message gives."""


class Process:
    """A process of its own that makes files, with one thread, as the workflow does.

    It starts when it is first needed. Several studies can share one, as to import what they need
    takes longer than to compute some of them.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        # It ends with this object.
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._said.close()

    def make(self, folder: Path, jobs: list[list[str]]) -> None:
        """Do some jobs.

        Args:
            folder: where.
            jobs: what the program is given for each.

        Raises:
            InputError: if one fails; those after it are not done.
        """
        child = self._child = self._child or self._started()
        assert child.stdin
        assert child.stdout
        self._said.seek(0)
        self._said.truncate()
        child.stdin.write(json.dumps([str(folder), jobs]) + "\n")
        child.stdin.flush()
        # Jobs may print, too.
        if not any(line.strip() == DONE for line in child.stdout):
            self._end()
            self._said.seek(0)
            raise InputError(self._said.read()[-LONGEST_ANSWER:].strip())

    def _started(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", f"DONE = {DONE!r}\n{RUN}"],
            # Other hashes each time, so that the order of a set is seen.
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
                "PYTHONHASHSEED": "random",
                "OMP_NUM_THREADS": "1",
            },
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def _end(self) -> None:
        if child := self._child:
            # It ends where its input does.
            child.communicate()
            self._child = None


@dataclass(frozen=True)
class Processes:
    """Those that make a study, and make it once more."""

    first: Process
    """Of what is checked."""
    second: Process
    """Of what it is compared with."""

    @classmethod
    @contextmanager
    def started(cls) -> Iterator["Processes"]:
        """Two of them, which end with the context."""
        with Process() as first, Process() as second:
            yield cls(first, second)


@dataclass(frozen=True)
class Small:
    """A study at its smallest scale, all of it computed in a folder."""

    study: Study
    """Which one."""
    folder: Path
    """Where it was computed."""
    changes: dict[str, Any]
    """What is changed in the default configuration."""
    jobs: Jobs
    """How."""
    processes: Processes | None = None
    """In what; if none, in a process for each call."""
    is_quick: bool = False
    """Whether checks make a part of it once more, not all: of data, runs, metrics, tables and
    evidence one file for each program, besides the runs of one seed. Figures are drawn once, and
    not written."""

    @classmethod
    def computed(
        cls,
        study: Study,
        folder: Path,
        *,
        is_drawn: bool = True,
        is_quick: bool = False,
        processes: Processes | None = None,
    ) -> "Small":
        """Compute a study.

        Args:
            study: which.
            folder: an empty one.
            is_drawn: whether figures are, too.
            is_quick: whether checks are to be quick; then no figure is drawn here.
            processes: in what, if it is to share processes with other studies.

        Raises:
            InputError: if something in it cannot be used.
        """
        folder = folder.resolve()
        folder.mkdir(exist_ok=True)
        settings = configure({}, {study.name: study}).section(study.name)
        # Two seeds in a job, so that a job can have several.
        changes = {
            study.name: study.smallest(settings, folder),
            "computation": {"seeds_per_job": 2},
        }
        with chdir(folder):
            small = cls(study, folder, changes, _jobs(study, changes), processes, is_quick)
        small.make(small.jobs.tasks if is_drawn and not is_quick else small.numbers)
        return small

    def again(self) -> tuple["Small", list[str]]:
        """Everything but figures made once more in a folder of its own, and the paths of it."""
        folder = self.folder / "again"
        if not self.is_quick:
            with self._second() as processes:
                again = Small.computed(self.study, folder, is_drawn=False, processes=processes)
            return again, self.numbers
        folder.mkdir(exist_ok=True)
        with chdir(folder):
            # Some paths are relative to where the program starts.
            again = replace(self, folder=folder, jobs=_jobs(self.study, self.changes))
        one_of_each = {
            (task.stage, task.program): path
            for path, task in reversed([*self.jobs.tasks.items()])
            if task.stage != "figure"
        }
        made = [path for path in self.numbers if path in one_of_each.values()]
        # They read what the first ones read.
        for path in {*self.numbers}.difference(made):
            link = folder / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(self.folder / path)
        with self._second() as processes:
            processes.first.make(folder, [again.arguments(path) for path in made])
        return again, made

    def alone(self, random: Random) -> "Small":
        """Data and runs of one seed of every experiment, computed in a folder of their own."""
        folder = self.folder / "alone"
        folder.mkdir(exist_ok=True)
        overlay = self.study.one_seed(self.parts.settings, random)
        alone = replace(self, folder=folder, jobs=self.changed(overlay))
        with self._second() as processes:
            replace(alone, processes=processes).make(
                path for path, _ in alone.tasks("data", "runs")
            )
        return alone

    @contextmanager
    def _second(self) -> Iterator[Processes]:
        """Its processes, the second one as the first."""
        if self.processes:
            yield Processes(self.processes.second, self.processes.first)
        else:
            with Processes.started() as processes:
                yield processes

    def make(self, paths: Iterable[str]) -> None:
        """Make files, in a process of its own and with one thread, as the workflow does.

        Raises:
            InputError: if a job fails.
        """
        jobs = list(map(self.arguments, paths))
        if self.processes:
            self.processes.first.make(self.folder, jobs)
        else:
            with Process() as process:
                process.make(self.folder, jobs)

    @property
    def parts(self) -> StudyJobs:
        """Its jobs."""
        return self.jobs.studies[self.study.name]

    @property
    def numbers(self) -> list[str]:
        """Paths of everything but figures."""
        return [path for path, task in self.jobs.tasks.items() if task.stage != "figure"]

    def output(self, path: str) -> Path:
        """The file of a task; a figure's is its PDF."""
        return Path(f"{path}.pdf" if self.jobs.tasks[path].stage == "figure" else path)

    def arguments(self, path: str) -> list[str]:
        """What the program is given that makes a file."""
        task, orders = self.jobs.tasks[path], Orders(orders=[self.jobs.order(path)])
        files = (str(self.output(path)), *task.reads, *task.published)
        return ["--job", str(Told(orders.to_json(), self.folder.resolve() / TOLD)), *files]

    def tasks(self, *stages: str) -> Iterator[tuple[str, Task]]:
        """Path and task of every file of some stages."""
        return (item for item in self.jobs.tasks.items() if item[1].stage in stages)

    def work(self, path: str) -> Work:
        """What makes a file, without its inputs."""
        return Work(self.jobs.order(path), [], self.output(path), None)

    def runs(self) -> Iterator[tuple[tuple[str, int], dict[str, NDArray[Any]]]]:
        """The arrays of every seed, with what made them and the seed."""
        for path, task in self.tasks("runs"):
            recipe = self.jobs.recipe(path)
            arrays = read_arrays(self.folder / path, recipe, list(task.seeds))
            for index, seed in enumerate(task.seeds):
                own = {name: values[index] for name, values in arrays.items()}
                yield (recipe.digest, seed), own

    def table(self, path: str) -> pd.DataFrame:
        """A metric or the evidence of a claim."""
        return read_table(self.folder / path, self.jobs.recipe(path), None)

    def changed(self, overlay: Mapping[str, Any]) -> Jobs:
        """The jobs with some more changes of the study's section."""
        return _jobs(self.study, merged(self.changes, {self.study.name: overlay}))


def _jobs(study: Study, changes: dict[str, Any]) -> Jobs:
    """The jobs of a study, with paths relative to the working folder."""
    studies = {study.name: study}
    return Jobs.of(configure(changes, studies), studies)


Check = Callable[[Small], None]
CHECKS: list[Check] = []
"""All of them, in the order in which they read best."""


def check_study(study: Study, folder: Path, *, is_quick: bool = False) -> None:
    """Compute a study at its smallest scale and let it go through all checks.

    Args:
        study: which.
        folder: an empty one, for what is computed.
        is_quick: whether less of it is computed a second time, see `Small.is_quick`.

    Raises:
        AssertionError: says what the study does not do.
        InputError: if it cannot be computed.
    """
    with Processes.started() as processes:
        small = Small.computed(study, folder, is_quick=is_quick, processes=processes)
        for check in CHECKS:
            check(small)


def _check(function: Check) -> Check:
    """Have a check among all of them, and run it in the folder of what was computed."""

    @wraps(function)
    def inside(small: Small) -> None:
        with chdir(small.folder):
            function(small)

    CHECKS.append(inside)
    return inside


@_check
def check_jobs_are_plain_data(small: Small) -> None:
    """A job is the same after it was written as JSON, and its program reads it as its own type."""
    for path, task in small.tasks("data", "runs", "metrics", "table", "figure"):
        order = small.jobs.order(path)
        again = Order.parse_json(order.model_dump_json(exclude_defaults=True), path)
        assert again == order, f"{path}: its job is not the same after a round trip through JSON"
        function = small.work(path).function
        first = next(iter(inspect.signature(function).parameters.values()))
        assert isinstance(first.annotation, type), (
            f"{task.program}.{task.function}: its first parameter has no type that can be read;"
            " write the class, not its name in quotes"
        )
        assert issubclass(first.annotation, Strict), (
            f"{task.program}.{task.function}: its first parameter is no `Strict`"
        )
        given = task.settings["figure"] if task.stage in {"table", "figure"} else task.settings
        read = parsed(function, given).model_dump(mode="json")
        kept = {key: value for key, value in read.items() if key in given}
        assert kept == given, f"{path}: {task.program} reads other settings than it is given"


@_check
def check_same_seed_same_bytes(small: Small) -> None:
    """Every file is the same when it is made anew; of figures see the check of them."""
    again, made = small.again()
    for file in map(Path, made):
        _assert_same(file, again.folder / file)


def _assert_same(file: Path, again: Path) -> None:
    assert file.read_bytes() == again.read_bytes(), (
        f"{file}: the same job made other bytes the second time; does it draw from a"
        " generator without a seed, or go through a set?"
    )


@_check
def check_a_seed_does_not_depend_on_its_batch(small: Small) -> None:
    """A seed alone gives what it gives among others, to the bit."""
    together = dict(small.runs())
    for (recipe, seed), alone in small.alone(Random(0)).runs():
        for name, values in together[recipe, seed].items():
            assert values.tobytes() == alone[name].tobytes(), (
                f"'{name}' of seed {seed} is another one without its neighbours"
            )


@_check
def check_one_seed_is_left(small: Small) -> None:
    """The study's `one_seed` leaves one seed of every experiment that has any."""
    for draw in range(3):
        overlay = small.study.one_seed(small.parts.settings, Random(draw))
        parts = small.changed(overlay).studies[small.study.name]
        for name in parts.experiments:
            left, known = parts.seeds(name), small.parts.seeds(name)
            assert len(left) <= 1, f"one_seed leaves seeds {left} of experiment {name}"
            assert {*left} <= {*known}, f"one_seed gives {name} a seed {left} that it does not have"


@_check
def check_fingerprints_tell_runs_apart(small: Small) -> None:
    """Every experiment has a metric `fingerprint` with a digest of every run."""
    tables = {}
    for name in small.parts.experiments:
        assert name in small.parts.files.fingerprints, f"experiment {name} has no `fingerprint`"
        table = small.table(small.parts.files.fingerprints[name])
        assert {"seed", "digest"} <= {*table}, f"fingerprint of {name}: lacks seed or digest"
        assert {*table["seed"]} == {*small.parts.seeds(name)}, (
            f"fingerprint of {name}: has other seeds than its runs"
        )
        assert table["digest"].is_unique, f"fingerprint of {name}: two runs are the same"
        tables[name] = table
    together = collect_fingerprints(tables)
    alike = together["experiment"][together.duplicated(run_keys(together))]
    assert alike.empty, (
        f"fingerprint of {alike.iloc[0]}: no text, and no whole number that all experiments have,"
        " tells two runs apart"
    )


@_check
def check_no_seed_is_dropped(small: Small) -> None:
    """The evidence of a test over seeds has all seeds of the experiments that it names."""
    for name, claim in small.parts.claims.items():
        evidence = small.table(small.parts.files.evidence[name])
        if UNMEASURED in evidence:
            reason = evidence[UNMEASURED].item()
            is_known = f"claim {name}" in small.parts.unlike_published
            assert is_known or reason.endswith(OUT_OF_REGIME), f"claim {name}: {reason}"
            continue
        assert not evidence.empty, f"claim {name}: its evidence is empty"
        if isinstance(claim.test, Statistical):
            sources = small.parts.sources(name)
            known = {seed for source, _ in sources for seed in small.parts.seeds(source)}
            assert {*evidence["seed"]} == known, (
                f"claim {name}: its evidence has seeds {sorted({*evidence['seed']})}, its data"
                f" {sorted(known)}"
            )


@_check
def check_everything_is_described(small: Small) -> None:
    """Figures have texts, claims and methods name figures that exist, and there is a README."""
    registry = small.parts.registry
    drawings = {figure.drawing for figure in small.parts.figures.values()}
    for name, figure in small.parts.figures.items():
        assert figure.drawing in registry.figures, (
            f"figure {name}: registry.yaml says nothing of '{figure.drawing}'"
        )
        assert type(figure).title, f"figure {name}: has no title"
    for name in registry.figures:
        assert name in drawings, f"registry.yaml describes '{name}', which is not drawn"
    for method in registry.methods:
        unknown = {*method.figures} - {*registry.figures}
        assert not unknown, f"methods: {', '.join(unknown)} is no figure"
    readme = small.study.folder / "README.md"
    assert readme.is_file(), f"{readme}: is missing"
    assert readme.read_text(encoding="utf-8").startswith("# "), f"{readme}: has no title"


@_check
def check_methods_tell_every_setting(small: Small) -> None:
    """Nobody has to guess what stands in the configuration, or why."""
    registry = small.parts.registry
    settings = configure({}, {small.study.name: small.study}).section(small.study.name)
    found = settings.model_dump(mode="json")
    silent, unknown = unnamed_settings(registry, found), unknown_settings(registry, found)
    assert not silent, f"registry.yaml: no entry of methods names {', '.join(silent)}"
    assert not unknown, f"registry.yaml: methods: there is no setting {', '.join(unknown)}"


@_check
def check_texts_cite_their_numbers(small: Small) -> None:
    """Captions and descriptions type no number, and cite what is there under these settings."""
    for drawing, text in small.parts.registry.figures.items():
        for part in ("drawn", "caption"):
            typed = typed_numbers_in_template(getattr(text, part))
            assert not typed, (
                f"registry.yaml: figures: {drawing}: {part}: the number in '{'; '.join(typed)}' is"
                " typed; cite it from the figure's table or settings, see replication/judge/citation.py"
            )
    verdicts = {
        claim: read_verdict(Path(path)) for claim, path in small.parts.files.verdicts.items()
    }
    for name, figure in small.parts.figures.items():
        table = read_csv(Path(small.parts.table(name)), ())
        shown = CitedFigure.of(small.parts, name, table, verdicts.get)
        shown.cite(small.parts.registry.figures[figure.drawing])


@_check
def check_no_measure_is_forgotten(small: Small) -> None:
    """Every function of the claims' modules that returns a table is that of a claim."""
    measures = {str(claim.measure) for claim in small.parts.claims.values()}
    for module in {name.partition(".")[0] for name in measures}:
        program = small.study.program(f"claims.{module}")
        for name, value in inspect.getmembers(import_module(program), inspect.isfunction):
            is_measure = "DataFrame" in str(inspect.signature(value).return_annotation)
            if is_measure and value.__module__ == program and not name.startswith("_"):
                assert f"{module}.{name}" in measures, f"no claim uses {program}.{name}"


@_check
def check_measures_read_their_metrics(small: Small) -> None:
    """A claim names metrics that its measure takes, by the types of their settings."""
    for name in small.parts.claims:
        try:
            refuse_unreadable(small.parts, name, f"claim {name}")
        except InputError as error:
            raise AssertionError(error.message) from error


@_check
def check_figures_are_functions_of_their_table(small: Small) -> None:
    """A figure reads nothing but its table, does not change it, and shows what stands in it.

    Drawn anew, it has the same bytes; quick checks draw it once.
    """
    from matplotlib.pyplot import close

    from replication.figures.style import set_style

    set_style()
    folder = small.folder / "drawn"
    folder.mkdir(exist_ok=True)
    for path, task in small.tasks("figure"):
        file, order = small.output(path), small.jobs.order(path)
        given = list(given_files(order.inputs, [*map(Path, (*task.reads, *task.published))]))
        work = Work(order, given, folder / file.name, None)
        table, *known = (read_csv(item.path, ()) for item in given)
        before = table.copy(deep=True)
        figure = parsed(work.function, order.settings["figure"])
        missing = [column for column in figure.columns if column not in table]
        assert not missing, f"{path}: its table lacks {', '.join(missing)}"
        with tempfile.TemporaryDirectory() as empty, chdir(empty):
            drawn = work.function(figure, table, known[0] if known else None)
        assert table.equals(before), f"{path}: drawing changes its table"
        unknown = list(unknown_marks(drawn, [table, *known]))
        assert bool(unknown) == (figure.drawing in small.study.drawn_beside), (
            f"{path}: does not have in its table what it draws, {', '.join(unknown[:SHOWN])};"
            " compute it in `table`"
            if unknown
            else f"{path}: has all that it draws in its table; take it out of DRAWN_BESIDE"
        )
        if small.is_quick:
            close(drawn)
        else:
            write_figure(work, drawn)
            _assert_same(file, work.output)


@_check
def check_mistakes_are_answered(small: Small) -> None:
    """A wrong configuration is answered by a sentence that says where, never by a traceback."""
    section = small.parts.settings.model_dump(mode="json")
    last = [*section][-1]
    _answered(small, {f"{last}s": {}}, f"did you mean '{last}'?")
    for key, value in section.items():
        _answered(small, {key: _of_another_kind(value)}, small.study.name, key)
    for name, figure in section["figures"].items():
        for key, value in figure.items():
            overlay = {"figures": {name: {key: _of_another_kind(value)}}}
            _answered(small, overlay, small.study.name, "figures", name, key)
            for experiment in small.parts.experiments:
                if value in (experiment, [experiment]):
                    strange = f"{experiment}x" if value == experiment else [f"{experiment}x"]
                    overlay = {"figures": {name: {key: strange}}}
                    _answered(small, overlay, f"did you mean '{experiment}'?")


def _of_another_kind(value: Any) -> Any:
    return "text" if isinstance(value, dict | list) else {"not": "this"}


def _answered(small: Small, overlay: dict[str, Any], *expected: str) -> None:
    said = "nothing"
    try:
        small.changed(overlay)
    except InputError as error:
        said = error.message
    for words in expected:
        assert words in said, f"{overlay} is answered by '{said}', without '{words}'"
