"""The steps of a study: one for each file, from its jobs, figures and claims."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from replication.base.code_digest import check_function, parameters
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
from replication.plan.steps import Input, Role, Stage, Step, digest_of_file, texts
from replication.plan.study_jobs import StudyJobs
from replication.study.claims import Claim, Row
from replication.study.contract import Experiment, Job
from replication.study.datasets import dataset_folders, find_datasets
from replication.study.published_tables import check_published_table

JUDGE, SCORECARDS = "replication.judge.judgement", "replication.judge.scorecard"
VOCABULARY = "replication.study.vocabulary"
"""Module that makes the evidence of a claim from words of the registry."""
DRAWING = "replication.figures.style"
"""Module that every picture depends on, besides those that its program reaches."""
PLAIN_PATH = re.compile(r"([\w,+-][\w.,+-]*/)*[\w,+-][\w.,+-]*", re.ASCII)
"""Paths that mean nothing else to a shell, to Snakemake or to a file system."""
REPEATED_TWENTY_TIMES = re.compile(r"(.+?)\1{19}")
"""Names of files that Snakemake takes for a rule that feeds itself."""
LONGEST_NAME = 200
"""Largest number of letters of a part of a path; file systems take 255 bytes."""


def study_steps(jobs: StudyJobs) -> dict[str, Step]:
    """Return the step of every file by path; inputs come before the files that read them.

    An `InputError` if the parts of the study do not fit together.
    """
    made = _Steps(jobs)
    for experiment in jobs.experiments.values():
        made.add_data(experiment)
    for name, experiment in jobs.experiments.items():
        made.add_experiment(name, experiment)
    cells = [*((claim, "") for claim in jobs.claims), *made.varied]
    for cell in cells:
        made.add_evidence(*cell)
    for cell in cells:
        made.add_verdict(*cell)
    for name in jobs.figures:
        made.add_figure(name)
    made.add_scorecard()
    return made.steps


class _Steps:
    """The steps of a study that are made so far."""

    def __init__(self, jobs: StudyJobs) -> None:
        self.steps: dict[str, Step] = {}
        varied = [name for name, claim in jobs.claims.items() if claim.sensitivity]
        self.varied = [(claim, variant) for claim in varied for variant in jobs.variants]
        """Claim and variant of every cell of a table of sensitivity."""
        self._jobs = jobs
        self._study = jobs.study.name
        self._keys = [*type(jobs.settings).model_fields]
        # Jobs of an experiment share their settings; each object is written out once.
        self._plain: dict[int, tuple[Strict, Any, str]] = {}

    def _add(
        self, path: str, stage: Stage, program: str, function: str, settings: Any,
        inputs: Iterable[Input], beside: Sequence[str] = (), known: str = "", **more: Any,
    ) -> None:  # fmt: skip
        step = Step(
            (path, *beside), stage, program, function, settings, known or digest(settings),
            inputs=tuple(inputs), **more,
        )  # fmt: skip
        # Experiments may share data.
        if self.steps.setdefault(path, step) != step:
            raise InputError(f"{path}: two jobs of study {self._study} make this file")
        where = f"configuration: {self._study}"
        if not PLAIN_PATH.fullmatch(path):
            raise InputError(
                f"{where}: the file {path!r} cannot be made; names may have letters, digits and"
                " _.,+- and must not begin with a dot"
            )
        for name in path.split("/"):
            if len(name) > LONGEST_NAME or REPEATED_TWENTY_TIMES.search(name):
                raise InputError(
                    f"{where}: {shorten(name)}: a name has at most 80 characters, and does not"
                    " repeat the same ones twenty times; shorten the names in the configuration, or"
                    " use successive seeds or a smaller computation.seeds_per_job"
                )
        check_function(program, function)

    def _add_job(
        self, path: str, stage: Stage, function: str, job: Job, inputs: Iterable[Input]
    ) -> None:
        if id(job.settings) not in self._plain:
            plain = job.settings.model_dump(mode="json")
            self._plain[id(job.settings)] = job.settings, plain, digest(plain)
        _, plain, known = self._plain[id(job.settings)]
        kept = ("seeds", "gaps", "memory", "minutes", "operations")
        self._add(
            path, stage, self._jobs.study.program(job.program), function, plain, inputs,
            known=known, device=getattr(job.settings, "device", "cpu"),
            **{name: getattr(job, name) for name in kept},
        )  # fmt: skip

    def add_data(self, experiment: Experiment) -> None:
        for name, job in experiment.data.items():
            sources = []
            for path in job.reads:
                _refuse_strange_path(path, f"configuration: {self._study}")
                # A data set's digest is in its record; the data themselves may be large.
                is_own = path not in self._fetched and os.path.isfile(path)
                key = digest_of_file(path) if is_own else self._fetched.get(path, "missing")
                sources.append(Input(path, "source", key))
            self._add_job(self._jobs.path("data", name), "data", "sample", job, sources)

    @cached_property
    def _fetched(self) -> dict[str, str]:
        """Digests of all that is fetched, by path of a file of a data set."""
        return {
            path: digest(dataset.model_dump(mode="json", include={"archive", "files"}))
            for name, dataset in find_datasets(dataset_folders()).items()
            for path in dataset.paths(name)
        }

    def add_experiment(self, name: str, experiment: Experiment) -> None:
        paths = {run: self._jobs.path("runs", f"{name}/{run}") for run in experiment.runs}
        for run, job in experiment.runs.items():
            self._add_job(paths[run], "runs", "train", job, self._data(job, f"{name}, {run}"))
        seeds = self._jobs.seeds(name)
        gaps = tuple(dict.fromkeys(gap for job in experiment.runs.values() for gap in job.gaps))
        for metric, job in experiment.metrics.items():
            reads = [*_inputs("runs", paths.values()), *self._data(job, f"{name}, {metric}")]
            path = self._jobs.path("metrics", f"{name}/{metric}")
            whole = job._replace(seeds=seeds, gaps=gaps)
            self._add_job(path, "metrics", "measure", whole, reads)

    def _data(self, job: Job, where: str) -> list[Input]:
        paths = {self._jobs.path("data", name): name for name in job.reads}
        for path, name in paths.items():
            if path not in self.steps:
                raise InputError(f"{self._study}, {where}: reads data '{name}', which no job makes")
        return _inputs("data", paths)

    def add_evidence(self, claim: str, variant: str) -> None:
        found, path = self._jobs.claims[claim], self._jobs.path("evidence", claim, variant)
        is_own, where = found.kind == "own", f"{self._study}: claim {claim}"
        if is_own:
            where = f"configuration: {self._study} > claims > {claim}"
        settings: dict[str, Any] = {"uses": self._uses(found.uses, where)}
        tables = self._metrics(self._jobs.sources(claim, variant), where)
        published = self._published(found.published_table, f"{where} > published_table")
        inputs = [*tables, *published]
        row: Row = found.evidence  # type: ignore[assignment]  # it has a test
        program, function = self._measure(found, row, len(inputs), where)
        is_alone = row.model_fields_set == {"table"}
        settings["evidence"] = (
            function if is_alone else row.model_dump(mode="json", exclude_unset=True)
        )
        gaps = {Path(each.path).parent.name: self.steps[each.path].gaps for each in tables}
        if any(gaps.values()):
            settings["gaps"] = {name: [*each] for name, each in gaps.items() if each}
        settings |= self._unlike(f"claim {claim}")
        # A user's own claim has a job of its own, so that it reruns no other. The others share one
        # job by module and experiments.
        module, _, _ = (row.table or "rows").partition(".")
        self._add(
            path, "evidence", program, function, settings, inputs,
            besides=(VOCABULARY,) if row.value and row.table else (),
            batch=f"own-{claim}" if is_own else "-".join([module, *gaps]),
        )  # fmt: skip

    def _measure(self, claim: Claim, row: Row, given: int, where: str) -> tuple[str, str]:
        """Return module and function of a claim's measure.

        Refuse a claim that gives the function other tables, or keys by name, than it takes. A
        published table is among the `given` ones; a parameter with the name of a key of the study's
        section is no table.
        """
        if row.table is None:
            return VOCABULARY, "stack"
        module, _, function = row.table.partition(".")
        try:
            program = self._jobs.study.program(f"claims.{module}")
            takes = parameters(program, function)
        except InputError as error:
            raise InputError(f"{where} > evidence: {error.message}") from error
        used = {*takes.positional, *takes.named} & {*self._keys}
        for word in row.given:
            if word not in takes.named:
                raise InputError(f"{where} > evidence > with: {unknown_key(word, takes.named)}")
        tables = [name for name in takes.positional if name not in used]
        least = len({*takes.required} & {*tables})
        is_enough = least <= given and (given <= len(tables) or takes.takes_more)
        if not is_enough or not (used & {*takes.required}) <= {*claim.uses} <= used:
            raise InputError(
                f"{where}: {row.table} takes the tables ({', '.join(tables)}) and uses"
                f" ({', '.join(sorted(used))}); the claim gives {given} under `data` and"
                f" `published_table`, and uses ({', '.join(claim.uses)})"
            )
        return program, function

    def add_verdict(self, claim: str, variant: str) -> None:
        family = {name: self._jobs.claims[name] for name in self._jobs.family(claim, variant)}
        tests = {name: each.test.model_dump(mode="json") for name, each in family.items()}  # type: ignore[union-attr]
        robustness = self._jobs.registry.robustness_cells
        alone = self.steps[self._jobs.path("evidence", claim)].batch
        settings: dict[str, Any] = {"claim": claim, "tests": tests}
        settings |= {"robustness": robustness} if robustness else {}
        self._add(
            self._jobs.path("verdicts", claim, variant), "verdict", JUDGE, "verdict", settings,
            _inputs("evidence", (self._jobs.path("evidence", name, variant) for name in family)),
            batch=variant or (alone if len(family) == 1 else family[claim].family),
        )  # fmt: skip

    def add_figure(self, name: str) -> None:
        """Add the steps of a figure's table and of its picture, of whatever kind."""
        figure, path = self._jobs.figures[name], self._jobs.table(name)
        program, checksum = type(figure).__module__, checksum_file(path)
        where = f"configuration: {self._study} > figures > {name}"
        uses = self._uses(figure.uses, where)
        reads = self._metrics(figure.sources(), where)
        if isinstance(figure, Sensitivity):
            verdicts, cells = [*zip(*self._cells(), strict=True)] or [(), ()]
            uses, reads = {"cells": [*cells]}, _inputs("verdict", verdicts)
        elif isinstance(figure, Scorecard):
            uses = {"registry": registry_of_scorecard(self._jobs.registry)}
            reads = self._verdicts(claims_of_scorecard(self._jobs.registry))
        shown = figure.model_dump(mode="json", exclude={"published"})
        settings: dict[str, Any] = {"figure": shown, "uses": uses}
        self._add(path, "table", program, "table", settings, reads, [checksum])
        settings = {"figure": figure.model_dump(mode="json")}
        settings |= self._unlike(f"figure {name}")
        reads = [Input(path, "table"), Input(checksum, "checksum")]
        reads += self._published(figure.published, f"{where} > published", figure.published_columns)
        seeds = self._jobs.seeds(*(source for source, _ in figure.sources()))
        self._add(
            path.removesuffix(".csv"), "figure", program, "draw", settings, reads, seeds=seeds,
            besides=(DRAWING,),
        )  # fmt: skip

    def _cells(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every cell of a table of sensitivity, with the path of its verdict.

        A variant that changes nothing has that of the first.
        """
        first = next(iter(self._jobs.variants), "")
        for claim, variant in self.varied:
            found, sources = self._jobs.claims[claim], self._jobs.sources
            is_same = variant != first and sources(claim, variant) == sources(claim, first)
            yield (
                self._jobs.path("verdicts", claim, first if is_same else variant),
                {
                    "claim": claim,
                    "statement": found.statement,
                    "expected": found.expected,
                    "variant": self._jobs.variants[variant].title,
                    "as_baseline": is_same,
                },
            )

    def add_scorecard(self) -> None:
        """Add the step of the table of all verdicts."""
        path = self._jobs.study.scorecard
        settings = self._jobs.registry.model_dump(mode="json", exclude_defaults=True)
        self._add(
            path, "scorecard", SCORECARDS, "write_scorecard", settings,
            self._verdicts(self._jobs.claims), [path.replace(".md", ".parquet")],
        )  # fmt: skip

    def _verdicts(self, claims: Iterable[str]) -> list[Input]:
        return _inputs("verdict", map(self._jobs.verdict, claims))

    def _metrics(self, sources: list[tuple[str, str]], where: str) -> list[Input]:
        experiments = self._jobs.experiments
        for experiment, metric in sources:
            if experiment not in experiments:
                place, key, known = "experiment", experiment, [*experiments]
            elif metric not in experiments[experiment].metrics:
                place = f"metric of experiment '{experiment}'"
                key, known = metric, [*experiments[experiment].metrics]
            else:
                continue
            raise InputError(
                f"{where}: {place}: {unknown_key(key, known)} (did the configuration remove it?)"
            )
        paths = (self._jobs.path("metrics", "/".join(each)) for each in sources)
        return _inputs("metrics", paths)

    def _uses(self, keys: Iterable[str], where: str) -> dict[str, Any]:
        for key in keys:
            if key not in self._keys:
                raise InputError(f"{where}: uses: {unknown_key(key, self._keys)}")
        return self._jobs.settings.model_dump(mode="json", include={*keys}) if keys else {}

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

    def _unlike(self, what: str) -> dict[str, str]:
        found = self._jobs.unlike_published.get(what)
        return {"unlike_published": found} if found else {}


def _inputs(role: Role, paths: Iterable[str]) -> list[Input]:
    return [Input(path, role) for path in paths]


def _refuse_strange_path(path: str, where: str) -> None:
    if set("{}") & set(path) or not path.isprintable():
        raise InputError(
            f"{where}: the path {path!r} has characters that mean something else to Snakemake;"
            " rename the file or its folder"
        )
