"""Tasks of a study: one for each file, from its jobs, figures and claims."""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from replication.base.code_digest import Parameters, check_function, parameters
from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.base.strict import Strict, shorten, unknown_key
from replication.judge.scorecard_figure import (
    Scorecard,
    claims_of_sentences,
    sentences_of,
)
from replication.judge.sensitivity import Sensitivity
from replication.plan.metric_types import refuse_unreadable
from replication.plan.orders import Stage, file_digests
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import Claim
from replication.study.contract import Experiment, Job
from replication.study.datasets import dataset_folders, find_datasets
from replication.study.published_tables import check_published_table

DRAWING = "replication.figures.style"
"""Module that every picture depends on, besides those that its program reaches."""
JUDGE = "replication.judge.judgement"
PLAIN_PATH = re.compile(r"([\w,+-][\w.,+-]*/)*[\w,+-][\w.,+-]*", re.ASCII)
"""Paths that mean nothing else to a shell, to Snakemake or to a file system."""
REMOVED_HINT = " (did the configuration remove it?)"
"""Hint after a name of a registry or a configuration that is not there."""
LONGEST_NAME = 200
"""Largest number of letters of a file's name without ending; file systems take 255 bytes."""


class Task(NamedTuple):
    """One file's program, settings and inputs."""

    stage: Stage
    """Kind of the file that is made."""
    program: str
    """Full name of the module that makes the file."""
    function: str
    """Function of the module."""
    settings: Any
    """Settings of the function, as plain data."""
    digest: str
    """Digest of the settings."""
    seeds: tuple[int, ...] = ()
    """Seeds that the file covers."""
    reads: tuple[str, ...] = ()
    """Paths of the inputs, in the order in which the program takes them."""
    published: tuple[str, ...] = ()
    """Paths of tables as printed, which people edit; they are the last inputs."""
    printed: tuple[str, ...] = ()
    """Digests of all inputs that no program makes: tables as printed, sources of data."""
    memory: int = 1500
    """Memory in MB."""
    minutes: int = 30
    """Limit of the run time in minutes."""
    operations: float = 0.0
    """Floating-point operations, see `Job`."""
    device: str = "cpu"
    """Device that computes, see `Job`."""
    gaps: tuple[str, ...] = ()
    """Patterns of the names of arrays that may hold values that are not finite."""
    batch: str = ""
    """Name of a job that makes several files of a stage; empty if the file has its own job."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Modules whose code makes the file."""
        return programs_of(self.stage, self.program)


class Tasks:
    """Maker of a study's tasks from its parts."""

    def __init__(self, jobs: StudyJobs) -> None:
        self._jobs = jobs
        self._study = jobs.study.name
        self._made: dict[str, Task] = {}
        # Jobs of an experiment share their settings; each object is written out once.
        self._plain: dict[int, tuple[Strict, Any, str]] = {}

    def all(self) -> Iterator[tuple[str, Task]]:
        """Return path and task of every file; inputs come before the files that read them."""
        for experiment in self._jobs.experiments.values():
            for name, job in experiment.data.items():
                self._add(self._jobs.path("data", name, "npz"), self._data(job), shared=True)
        for name, experiment in self._jobs.experiments.items():
            self._experiment(name, experiment)
        cells = [*((claim, "") for claim in self._jobs.claims), *self._jobs.varied_cells]
        for cell in cells:
            self._add(self._jobs.evidence(*cell), self._evidence(*cell))
        for cell in cells:
            self._add(self._jobs.verdict(*cell), self._verdict(*cell))
        for name in self._jobs.figures:
            self._add(self._jobs.table(name), self._table(name))
            self._add(self._jobs.table(name).removesuffix(".csv"), self._figure(name))
        return iter(self._made.items())

    def _add(self, path: str, task: Task, *, shared: bool = False) -> None:
        known = self._made.get(path)
        if known is not None and not (shared and known == task):
            raise InputError(f"{path}: two jobs of study {self._study} make this file")
        if not PLAIN_PATH.fullmatch(path):
            raise InputError(
                f"configuration: {self._study}: the file {path!r} cannot be made; names"
                " may have letters, digits and _.,+- and must not begin with a dot"
            )
        if len(stem(path)) > LONGEST_NAME:
            raise InputError(
                f"the file name {stem(path)[:20]}... is too long; shorten the names in the"
                " configuration, or use successive seeds or a smaller computation.seeds_per_job"
            )
        check_function(task.program, task.function)
        self._made[path] = task

    def _data(self, job: Job) -> Task:
        for path in job.reads:
            _check_characters(path, f"configuration: {self._study}")
        printed = tuple(map(self._digest_of_source, job.reads))
        return self._task("data", "sample", job, job.reads)._replace(printed=printed)

    def _digest_of_source(self, path: str) -> str:
        """Return the digest of a file that no job makes; the registry has that of a data set's."""
        if path in self._fetched:
            return self._fetched[path]
        return file_digests([path])[0] if os.path.isfile(path) else "missing"

    @cached_property
    def _fetched(self) -> dict[str, str]:
        """Digests of what is fetched, by path of a file of a data set."""
        return {
            path: digest(dataset.model_dump(mode="json", include={"archive", "files"}))
            for name, dataset in find_datasets(dataset_folders()).items()
            for path in dataset.paths(name)
        }

    def _experiment(self, name: str, experiment: Experiment) -> None:
        for run, job in experiment.runs.items():
            reads = self._data_paths(job, f"{name}, {run}")
            self._add(self._jobs.run(name, run), self._task("runs", "train", job, reads))
        runs = [self._jobs.run(name, run) for run in experiment.runs]
        seeds = self._jobs.seeds(name)
        gaps = tuple(dict.fromkeys(gap for job in experiment.runs.values() for gap in job.gaps))
        for metric, job in experiment.metrics.items():
            reads = (*runs, *self._data_paths(job, f"{name}, {metric}"))
            task = self._task("metrics", "measure", job._replace(seeds=seeds, gaps=gaps), reads)
            self._add(self._jobs.metric(name, metric), task)

    def _data_paths(self, job: Job, where: str) -> tuple[str, ...]:
        paths = tuple(self._jobs.path("data", name, "npz") for name in job.reads)
        for name, path in zip(job.reads, paths, strict=True):
            if path not in self._made:
                raise InputError(f"{self._study}, {where}: reads data '{name}', which no job makes")
        return paths

    def _task(self, stage: Stage, function: str, job: Job, reads: tuple[str, ...]) -> Task:
        program = self._jobs.study.program(job.program)
        plain, settings = self._dumped(job.settings)
        return Task(
            stage, program, function, plain, settings, job.seeds, reads,
            memory=job.memory, minutes=job.minutes, operations=job.operations,
            device=getattr(job.settings, "device", "cpu"), gaps=job.gaps,
        )  # fmt: skip

    def _evidence(self, claim: str, variant: str) -> Task:
        found = self._jobs.claims[claim]
        where = f"{self._study}: claim {claim}"
        if found.kind == "own":
            where = f"configuration: {self._study} > claims > {claim}"
        uses = self._uses(found.uses, where)
        tables = self._jobs.sources(claim, variant)
        program, function = self._measure(found, len(tables), where)
        sources = self._metrics(tables, where)
        if found.kind == "own":
            refuse_unreadable(self._jobs, claim, where)
        settings: dict[str, Any] = {"evidence": function, "uses": uses}
        settings |= self._unlike_published(f"claim {claim}")
        published = self._published(found.published_table, f"{where} > published_table")
        task = self._small("evidence", program, function, settings, sources, published)
        return task._replace(batch=self._jobs.batch(claim, variant))

    def _measure(self, claim: Claim, tables: int, where: str) -> tuple[str, str]:
        """Return module and function of a claim's measure; refuse it for this number of tables."""
        module, _, function = str(claim.evidence).partition(".")
        try:
            program = self._jobs.study.program(f"claims.{module}")
            takes = parameters(program, function)
        except InputError as error:
            raise InputError(f"{where} > evidence: {error.message}") from error
        given = tables + bool(claim.published_table)
        _check_parameters(claim, given, takes, {*type(self._jobs.settings).model_fields}, where)
        return program, function

    def _verdict(self, claim: str, variant: str) -> Task:
        family = self._jobs.family(claim, variant)
        tests = {
            name: self._jobs.claims[name].test.model_dump(mode="json")  # type: ignore[union-attr]
            for name in family
        }
        reads = tuple(self._jobs.evidence(name, variant) for name in family)
        settings: dict[str, Any] = {"claim": claim, "tests": tests}
        if beside := self._jobs.registry.beside:
            settings["robustness"] = beside
        task = self._small("verdict", JUDGE, "verdict", settings, reads)
        alone = len(family) == 1
        own = self._jobs.batch(claim) if alone else self._jobs.claims[claim].family
        return task._replace(batch=variant or own)

    def _table(self, name: str) -> Task:
        figure = self._jobs.figures[name]
        where = f"configuration: {self._study} > figures > {name}"
        uses = self._uses(figure.uses, where)
        reads = self._metrics(figure.sources(), where)
        if isinstance(figure, Sensitivity):
            uses = {"cells": self._cells()}
            reads = tuple(self._jobs.varied_verdict(*cell) for cell in self._jobs.varied_cells)
        elif isinstance(figure, Scorecard):
            sentences = sentences_of(self._jobs.registry)
            uses = {"sentences": sentences}
            reads = tuple(self._jobs.verdict(claim) for claim in claims_of_sentences(sentences))
        settings = {"figure": figure.model_dump(mode="json", exclude={"published"}), "uses": uses}
        return self._small("table", type(figure).__module__, "table", settings, reads)

    def _figure(self, name: str) -> Task:
        """Return the task of a picture, of whatever kind."""
        figure = self._jobs.figures[name]
        where = f"configuration: {self._study} > figures > {name} > published"
        settings: dict[str, Any] = {"figure": figure.model_dump(mode="json")}
        settings |= self._unlike_published(f"figure {name}")
        task = self._small(
            "figure", type(figure).__module__, "draw", settings, (self._jobs.table(name),),
            self._published(figure.published, where, figure.published_columns),
        )  # fmt: skip
        return task._replace(seeds=self._jobs.seeds_behind(name))

    def _small(
        self, stage: Stage, program: str, function: str, settings: Any,
        reads: tuple[str, ...], published: tuple[str, ...] = (),
    ) -> Task:  # fmt: skip
        known = digest(settings)
        printed = tuple(file_digests(published))
        return Task(stage, program, function, settings, known, (), reads, published, printed)

    def _dumped(self, settings: Strict) -> tuple[Any, str]:
        if id(settings) not in self._plain:
            plain = settings.model_dump(mode="json")
            self._plain[id(settings)] = (settings, plain, digest(plain))
        return self._plain[id(settings)][1:]

    def _metrics(self, sources: list[tuple[str, str]], where: str) -> tuple[str, ...]:
        for experiment, metric in sources:
            if experiment not in self._jobs.experiments:
                known = unknown_key(experiment, list(self._jobs.experiments))
                raise InputError(f"{where}: experiment: {known}{REMOVED_HINT}")
            if metric not in self._jobs.experiments[experiment].metrics:
                known = unknown_key(metric, list(self._jobs.experiments[experiment].metrics))
                raise InputError(
                    f"{where}: metric of experiment '{experiment}': {known}{REMOVED_HINT}"
                )
        return tuple(self._jobs.metric(*source) for source in sources)

    def _uses(self, keys: Iterable[str], where: str) -> dict[str, Any]:
        known = type(self._jobs.settings).model_fields
        for key in keys:
            if key not in known:
                raise InputError(f"{where}: uses: {unknown_key(key, list(known))}")
        return self._jobs.settings.model_dump(mode="json", include=set(keys)) if keys else {}

    def _published(
        self, name: str | None, where: str, columns: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        if name is None:
            return ()
        folder = self._jobs.study.folder / "published"
        path = Path(os.path.normpath(folder / name))
        below = os.path.relpath(path)
        if not (Path(name).is_absolute() or path.is_relative_to(folder)):
            raise InputError(
                f"{where}: {shorten(name)} is not in {os.path.relpath(folder)}; put the file there,"
                " or give its absolute path"
            )
        _check_characters(str(path), where)
        try:
            check_published_table(Path(below), columns)
        except InputError as error:
            raise InputError(f"{where}: {error.message}") from error
        return (below,)

    def _unlike_published(self, what: str) -> dict[str, str]:
        found = self._jobs.unlike_published.get(what)
        return {"unlike_published": found} if found else {}

    def _cells(self) -> list[dict[str, Any]]:
        return [
            {
                "claim": claim,
                "statement": self._jobs.claims[claim].statement,
                "expected": self._jobs.claims[claim].expected,
                "variant": self._jobs.variants[variant].title,
                "as_baseline": not self._jobs.varied_verdict(claim, variant).endswith(
                    f"-{variant}.json"
                ),
            }
            for claim, variant in self._jobs.varied_cells
        ]


def _check_parameters(
    claim: Claim, given: int, takes: Parameters, keys: set[str], where: str
) -> None:
    """Refuse a claim that does not give its function the tables, and `uses` by name, that it takes.

    A published table is among the given ones; a parameter with the name of a key of the study's
    section is no table.
    """
    used = {*takes.positional, *takes.named} & keys
    for name in sorted({*claim.uses} - used):
        raise InputError(f"{where} > uses: {claim.evidence} does not take {name}; remove it")
    for name in sorted((used & {*takes.required}) - {*claim.uses}):
        raise InputError(f"{where} > uses: {claim.evidence} takes {name}, too; add it")
    tables = [name for name in takes.positional if name not in used]
    least = len({*takes.required} & {*tables})
    if given < least or (given > len(tables) and not takes.takes_more):
        number = f"{len(tables)} table{'s' if len(tables) != 1 else ''}"
        named = f" ({', '.join(tables)})" if tables else ""
        raise InputError(
            f"{where} > data: {claim.evidence} takes {number}{named}, but {given}"
            f" {'is' if given == 1 else 'are'} given, a published one included"
        )


def _check_characters(path: str, where: str) -> None:
    if set("{}") & set(path) or not path.isprintable():
        raise InputError(
            f"{where}: the path {path!r} has characters that mean something else to Snakemake;"
            " rename the file or its folder"
        )


def programs_of(stage: Stage, program: str) -> tuple[str, ...]:
    """Return the modules whose code makes a file: the program, and for a picture the style."""
    return (program, DRAWING) if stage == "figure" else (program,)


def stem(path: str) -> str:
    """Return the name of a file without folders and ending."""
    return path.rpartition("/")[2].rpartition(".")[0]
