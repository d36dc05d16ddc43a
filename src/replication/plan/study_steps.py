"""The steps of a study: one for each file, from its jobs, figures and claims."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replication.base.code_digest import Parameters, check_function, parameters
from replication.base.errors import InputError
from replication.base.keys import digest
from replication.base.storage import checksum_file
from replication.base.strict import Strict, shorten, unknown_key
from replication.judge.scorecard_figure import (
    Scorecard,
    claims_of_scorecard,
    registry_of_scorecard,
)
from replication.judge.sensitivity import Sensitivity
from replication.plan.steps import Input, Stage, Step, digest_of_file, texts
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import Claim, Row
from replication.study.contract import Experiment, Job
from replication.study.datasets import dataset_folders, find_datasets
from replication.study.published_tables import check_published_table

DRAWING = "replication.figures.style"
"""Module that every picture depends on, besides those that its program reaches."""
JUDGE = "replication.judge.judgement"
VOCABULARY = "replication.study.vocabulary"
"""Module that makes the evidence of a claim from words of the registry."""
SCORECARDS = "replication.judge.scorecard"
PLAIN_PATH = re.compile(r"([\w,+-][\w.,+-]*/)*[\w,+-][\w.,+-]*", re.ASCII)
"""Paths that mean nothing else to a shell, to Snakemake or to a file system."""
REMOVED_HINT = " (did the configuration remove it?)"
"""Hint after a name of a registry or a configuration that is not there."""
LONGEST_NAME = 200
"""Largest number of letters of a file's name without ending; file systems take 255 bytes."""


class StudySteps:
    """Maker of a study's steps from its parts."""

    def __init__(self, jobs: StudyJobs) -> None:
        self._jobs = jobs
        self._study = jobs.study.name
        self._made: dict[str, Step] = {}
        # Jobs of an experiment share their settings; each object is written out once.
        self._plain: dict[int, tuple[Strict, Any, str]] = {}

    def all(self) -> Iterator[tuple[str, Step]]:
        """Return path and step of every file; inputs come before the files that read them."""
        jobs = self._jobs
        for experiment in jobs.experiments.values():
            for name, job in experiment.data.items():
                self._add(self._data(jobs.path("data", name, "npz"), job), shared=True)
        for name, experiment in jobs.experiments.items():
            self._experiment(name, experiment)
        cells = [*((claim, "") for claim in jobs.claims), *jobs.varied_cells]
        for cell in cells:
            self._add(self._evidence(*cell))
        for cell in cells:
            self._add(self._verdict(*cell))
        for name in jobs.figures:
            self._add(self._table(name))
            self._add(self._figure(name))
        self._add(self._scorecard())
        return iter(self._made.items())

    def _add(self, step: Step, *, shared: bool = False) -> None:
        path = step.outputs[0]
        known = self._made.get(path)
        if known is not None and not (shared and known == step):
            raise InputError(f"{path}: two jobs of study {self._study} make this file")
        if not PLAIN_PATH.fullmatch(path):
            raise InputError(
                f"configuration: {self._study}: the file {path!r} cannot be made; names"
                " may have letters, digits and _.,+- and must not begin with a dot"
            )
        if len(Path(path).name) > LONGEST_NAME:
            raise InputError(
                f"the file name {Path(path).name[:20]}... is too long; shorten the names in the"
                " configuration, or use successive seeds or a smaller computation.seeds_per_job"
            )
        check_function(step.program, step.function)
        self._made[path] = step

    def _data(self, path: str, job: Job) -> Step:
        for each in job.reads:
            _refuse_strange_path(each, f"configuration: {self._study}")
        sources = (Input(each, "source", self._digest_of_source(each)) for each in job.reads)
        return self._of_job(path, "data", "sample", job, sources)

    def _digest_of_source(self, path: str) -> str:
        """Return the digest of a file that no job makes; the registry has that of a data set's."""
        if path in self._fetched:
            return self._fetched[path]
        return digest_of_file(path) if os.path.isfile(path) else "missing"

    @cached_property
    def _fetched(self) -> dict[str, str]:
        """Digests of all that is fetched, by path of a file of a data set."""
        return {
            path: digest(dataset.model_dump(mode="json", include={"archive", "files"}))
            for name, dataset in find_datasets(dataset_folders()).items()
            for path in dataset.paths(name)
        }

    def _experiment(self, name: str, experiment: Experiment) -> None:
        jobs = self._jobs
        runs = [Input(jobs.run(name, run), "runs") for run in experiment.runs]
        for run, job in experiment.runs.items():
            data = self._inputs_of_data(job, f"{name}, {run}")
            self._add(self._of_job(jobs.run(name, run), "runs", "train", job, data))
        gaps = tuple(dict.fromkeys(gap for job in experiment.runs.values() for gap in job.gaps))
        for metric, job in experiment.metrics.items():
            reads = [*runs, *self._inputs_of_data(job, f"{name}, {metric}")]
            whole = job._replace(seeds=jobs.seeds(name), gaps=gaps)
            self._add(self._of_job(jobs.metric(name, metric), "metrics", "measure", whole, reads))

    def _inputs_of_data(self, job: Job, where: str) -> list[Input]:
        found = {name: self._jobs.path("data", name, "npz") for name in job.reads}
        for name, path in found.items():
            if path not in self._made:
                raise InputError(f"{self._study}, {where}: reads data '{name}', which no job makes")
        return [Input(path, "data") for path in found.values()]

    def _of_job(
        self, path: str, stage: Stage, function: str, job: Job, inputs: Iterable[Input]
    ) -> Step:
        plain, settings = self._dumped(job.settings)
        return Step(
            (path,), stage, self._jobs.study.program(job.program), function, plain, settings,
            job.seeds, tuple(inputs), gaps=job.gaps, memory=job.memory, minutes=job.minutes,
            operations=job.operations, device=getattr(job.settings, "device", "cpu"),
        )  # fmt: skip

    def _dumped(self, settings: Strict) -> tuple[Any, str]:
        if id(settings) not in self._plain:
            plain = settings.model_dump(mode="json")
            self._plain[id(settings)] = (settings, plain, digest(plain))
        return self._plain[id(settings)][1:]

    def _evidence(self, claim: str, variant: str) -> Step:
        found = self._jobs.claims[claim]
        is_own = found.kind == "own"
        where = (
            f"configuration: {self._study} > claims > {claim}"
            if is_own
            else f"{self._study}: claim {claim}"
        )
        settings: dict[str, Any] = {"uses": self._uses(found.uses, where)}
        tables = self._metrics(self._jobs.sources(claim, variant), where)
        published = self._published(found.published_table, f"{where} > published_table")
        row = _row(found)
        program, function = self._measure(found, len(tables) + len(published), where)
        is_alone = row.model_fields_set == {"table"}
        words = function if is_alone else row.model_dump(mode="json", exclude_unset=True)
        settings["evidence"] = words
        gaps = {Path(each.path).parent.name: self._made[each.path].gaps for each in tables}
        if any(gaps.values()):
            settings["gaps"] = {name: [*each] for name, each in gaps.items() if each}
        settings |= self._unlike_published(f"claim {claim}")
        path = self._jobs.evidence(claim, variant)
        step = _step(path, "evidence", program, function, settings, (*tables, *published))
        besides = (VOCABULARY,) if row.value and row.table else ()
        return replace(step, besides=besides, batch=self._jobs.batch(claim, variant))

    def _measure(self, claim: Claim, given: int, where: str) -> tuple[str, str]:
        """Return module and function of a claim's measure; refuse it for this number of tables."""
        table = _row(claim).table
        if table is None:
            return VOCABULARY, "stack"
        module, _, function = table.partition(".")
        try:
            program = self._jobs.study.program(f"claims.{module}")
            takes = parameters(program, function)
        except InputError as error:
            raise InputError(f"{where} > evidence: {error.message}") from error
        _refuse_other_arguments(
            claim, given, takes, {*type(self._jobs.settings).model_fields}, where
        )
        return program, function

    def _verdict(self, claim: str, variant: str) -> Step:
        family = self._jobs.family(claim, variant)
        tests = {
            name: self._jobs.claims[name].test.model_dump(mode="json")  # type: ignore[union-attr]
            for name in family
        }
        settings: dict[str, Any] = {"claim": claim, "tests": tests}
        if robustness := self._jobs.registry.robustness_cells:
            settings["robustness"] = robustness
        reads = (Input(self._jobs.evidence(name, variant), "evidence") for name in family)
        step = _step(
            self._jobs.verdict(claim, variant), "verdict", JUDGE, "verdict", settings, reads
        )
        is_alone = len(family) == 1
        own = self._jobs.batch(claim) if is_alone else self._jobs.claims[claim].family
        return replace(step, batch=variant or own)

    def _table(self, name: str) -> Step:
        figure = self._jobs.figures[name]
        where = f"configuration: {self._study} > figures > {name}"
        uses = self._uses(figure.uses, where)
        reads = self._metrics(figure.sources(), where)
        if isinstance(figure, Sensitivity):
            uses = {"cells": self._cells()}
            cells = self._jobs.varied_cells
            reads = [Input(self._jobs.varied_verdict(*cell), "verdict") for cell in cells]
        elif isinstance(figure, Scorecard):
            uses = {"registry": registry_of_scorecard(self._jobs.registry)}
            reads = self._verdicts(claims_of_scorecard(self._jobs.registry))
        settings = {"figure": figure.model_dump(mode="json", exclude={"published"}), "uses": uses}
        path = self._jobs.table(name)
        step = _step(path, "table", type(figure).__module__, "table", settings, reads)
        return replace(step, outputs=(path, checksum_file(path)))

    def _figure(self, name: str) -> Step:
        """Return the step of a picture, of whatever kind."""
        figure = self._jobs.figures[name]
        where = f"configuration: {self._study} > figures > {name} > published"
        settings: dict[str, Any] = {"figure": figure.model_dump(mode="json")}
        settings |= self._unlike_published(f"figure {name}")
        table = self._jobs.table(name)
        reads = [Input(table, "table"), Input(checksum_file(table), "checksum")]
        reads += self._published(figure.published, where, figure.published_columns)
        path = table.removesuffix(".csv")
        step = _step(path, "figure", type(figure).__module__, "draw", settings, reads)
        return replace(step, seeds=self._jobs.seeds_behind(name), besides=(DRAWING,))

    def _scorecard(self) -> Step:
        path = self._jobs.study.scorecard
        settings = self._jobs.registry.model_dump(mode="json", exclude_defaults=True)
        reads = self._verdicts(self._jobs.claims)
        step = _step(path, "scorecard", SCORECARDS, "write_scorecard", settings, reads)
        return replace(step, outputs=(path, path.replace(".md", ".parquet")))

    def _verdicts(self, claims: Iterable[str]) -> list[Input]:
        return [Input(self._jobs.verdict(claim), "verdict") for claim in claims]

    def _metrics(self, sources: list[tuple[str, str]], where: str) -> list[Input]:
        for experiment, metric in sources:
            if experiment not in self._jobs.experiments:
                known = unknown_key(experiment, list(self._jobs.experiments))
                raise InputError(f"{where}: experiment: {known}{REMOVED_HINT}")
            if metric not in self._jobs.experiments[experiment].metrics:
                known = unknown_key(metric, list(self._jobs.experiments[experiment].metrics))
                raise InputError(
                    f"{where}: metric of experiment '{experiment}': {known}{REMOVED_HINT}"
                )
        return [Input(self._jobs.metric(*source), "metrics") for source in sources]

    def _uses(self, keys: Iterable[str], where: str) -> dict[str, Any]:
        known = type(self._jobs.settings).model_fields
        for key in keys:
            if key not in known:
                raise InputError(f"{where}: uses: {unknown_key(key, list(known))}")
        return self._jobs.settings.model_dump(mode="json", include=set(keys)) if keys else {}

    def _published(
        self, name: str | None, where: str, columns: tuple[str, ...] = ()
    ) -> tuple[Input, ...]:
        if name is None:
            return ()
        folder = self._jobs.study.folder / "published"
        path = Path(os.path.normpath(folder / name))
        if not (Path(name).is_absolute() or path.is_relative_to(folder)):
            raise InputError(
                f"{where}: {shorten(name)} is not in {os.path.relpath(folder)}; put the file there,"
                " or give its absolute path"
            )
        _refuse_strange_path(str(path), where)
        try:
            check_published_table(Path(os.path.relpath(path)), columns)
        except InputError as error:
            raise InputError(f"{where}: {error.message}") from error
        return texts([os.path.relpath(path)], "published")

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


def _step(
    path: str, stage: Stage, program: str, function: str, settings: Any, inputs: Iterable[Input]
) -> Step:
    return Step((path,), stage, program, function, settings, digest(settings), inputs=tuple(inputs))


def _row(claim: Claim) -> Row:
    """Return the evidence of a claim that has a test."""
    return claim.evidence  # type: ignore[return-value]


def _refuse_other_arguments(
    claim: Claim, given: int, takes: Parameters, keys: set[str], where: str
) -> None:
    """Refuse a claim that gives its function other tables, or keys by name, than it takes.

    A published table is among the given ones; a parameter with the name of a key of the study's
    section is no table.
    """
    used = {*takes.positional, *takes.named} & keys
    for word in _row(claim).given:
        if word not in takes.named:
            raise InputError(f"{where} > evidence > with: {unknown_key(word, takes.named)}")
    tables = [name for name in takes.positional if name not in used]
    least = len({*takes.required} & {*tables})
    is_enough = least <= given and (given <= len(tables) or takes.takes_more)
    if not is_enough or not (used & {*takes.required}) <= {*claim.uses} <= used:
        raise InputError(
            f"{where}: {_row(claim).table} takes the tables ({', '.join(tables)}) and uses"
            f" ({', '.join(sorted(used))}); the claim gives {given} under `data` and"
            f" `published_table`, and uses ({', '.join(claim.uses)})"
        )


def _refuse_strange_path(path: str, where: str) -> None:
    if set("{}") & set(path) or not path.isprintable():
        raise InputError(
            f"{where}: the path {path!r} has characters that mean something else to Snakemake;"
            " rename the file or its folder"
        )
