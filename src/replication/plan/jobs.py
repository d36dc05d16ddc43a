"""The table of jobs: every file that a configuration can make, and how the file is made.

The table decides the inputs and programs of rules, the files that rerun, the provenance that a file
must have, the files that are compared with the reference, and the figures of a page.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from replication.base.errors import InputError
from replication.base.places import SOURCE
from replication.base.provenance import (
    KEY,
    Provenance,
    differences,
    digest,
    key_of_file,
    recipe_digest,
    surroundings_of,
)
from replication.base.strict import unknown_key
from replication.plan.configuration import (
    Computation,
    Configuration,
    configure,
    merge,
    read_overlay,
)
from replication.plan.limits import refuse_without_gpu, speed
from replication.plan.orders import Input, Order, made_by, planned_with
from replication.plan.paper_settings import claim_departures, without_published
from replication.plan.stale_files import checksum_file, has_key, read_record
from replication.plan.study_jobs import StudyJobs
from replication.plan.tasks import Task, Tasks
from replication.plan.times import Records, record_name
from replication.study.registry import Registry, read_registry
from replication.study.seeds import format_seeds
from replication.study.studies import Study

PICTURE_CHANGED = "the way to draw it, or a table as printed, changed"
"""Difference of a picture whose table is current; a picture says its key alone."""
MADE_BY_STUDY = frozenset({"data", "runs", "metrics"})
"""Stages whose jobs take as long as their settings say."""


@dataclass(frozen=True)
class Jobs:
    """The table of all jobs."""

    configuration: Configuration
    """Configuration of all studies."""
    studies: dict[str, StudyJobs]
    """Jobs of each study, by its name."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """Tasks by path of the file that is made."""
    figures: dict[str, tuple[StudyJobs, str]] = field(default_factory=dict)
    """Study and name of a figure, by path below `figures/` without ending."""
    _recipes: dict[Hashable, str] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        studies: dict[str, Study],
        add: Callable[[StudyJobs], StudyJobs] = lambda study: study,
    ) -> "Jobs":
        """Return the table of a configuration; `add` adds to the registry of a study.

        An `InputError` if a study's parts do not fit together, or two make the same file, or files
        whose names differ in upper and lower case alone.
        """
        jobs = cls(
            configuration,
            {name: add(_study_jobs(study, configuration)) for name, study in studies.items()},
        )
        # Some file systems take FIG1 and fig1 for the same.
        made: dict[str, tuple[str, str]] = {}
        for study in jobs.studies.values():
            for path, task in Tasks(study).all():
                name = study.study.name
                other, owner = made.setdefault(path.casefold(), (path, name))
                if (other, owner) != (path, name):
                    raise InputError(
                        f"configuration: {name}: {path} cannot be told from {other} of {owner};"
                        " rename one of the two"
                    )
                jobs.tasks[path] = task
            for name in study.figures:
                below = study.table(name).removeprefix("figures/").removesuffix(".csv")
                jobs.figures[below] = (study, name)
        return jobs

    @cached_property
    def batches(self) -> dict[tuple[str, str, str], list[str]]:
        """Paths of the files that one job makes together, by stage, study and batch."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for path, task in self.tasks.items():
            if task.batch:
                study = path.split("/")[1]
                found.setdefault((task.stage, study, task.batch), []).append(path)
        return found

    def figure_paths(self, study: str, *, costly: bool = True) -> list[str]:
        """Return a study's paths below `figures/`, without ending; costly figures if asked for."""
        return [
            below
            for below, (jobs, name) in self.figures.items()
            if jobs.study.name == study and (costly or not jobs.figures[name].is_costly)
        ]

    def selected_studies(self, choice: object) -> list[str]:
        """Return the studies of targets that name no study.

        The choice is a list of names, or names separated by commas; None stands for the studies of
        a plain run and those whose verdicts are all there. An `InputError` names an unknown study.
        """
        if choice is None:
            return [
                name
                for name, study in self.studies.items()
                if study.study.is_default or all(map(os.path.exists, study.files.verdicts.values()))
            ]
        if not self.studies:
            raise InputError(
                f"{SOURCE}: has no study; run this in the folder of a project: a clone, or what"
                " `replication new` made"
            )
        told = ",".join(map(str, choice)) if isinstance(choice, list) else str(choice)
        names = [name.strip() for name in told.split(",")]
        for name in names:
            if name not in self.studies:
                raise InputError(unknown_key(name, list(self.studies), "study", "studies"))
        return list(dict.fromkeys(names))

    def is_figure(self, path: str) -> bool:
        """Say whether the table has a figure under this path, which has no ending there."""
        return path in self.tasks and self.tasks[path].stage == "figure"

    def order(
        self, path: str, output: str | None = None, inputs: Sequence[str] | None = None
    ) -> Order:
        """Return the order to the program that makes a file.

        The file and its inputs, in the order of the table, may stand in other places.
        """
        task = self.tasks[path]
        read = [*task.reads, *task.published]
        is_table = task.stage == "table"
        return Order(
            output=output or path,
            stage=task.stage,
            program=task.program,
            function=task.function,
            settings=task.settings,
            seeds=format_seeds(task.seeds),
            gaps=list(task.gaps),
            inputs=[self._input(task, *each) for each in zip(read, inputs or read, strict=True)],
            made_of=self._made_of(path),
            planned_with=self.planned_with(path),
            checksum=str(checksum_file(Path(path))) if is_table else "",
        )

    def recipe(self, path: str) -> str:
        """Return the digest of the way to make a file, whatever its seeds."""
        if path not in self._recipes:
            task = self.tasks[path]
            reads = dict.fromkeys(self.recipe(each) for each in task.reads if each in self.tasks)
            # Most files of a stage are made by the same recipe, for other seeds.
            parts = (task.programs, task.digest, tuple(reads), task.printed)
            if parts not in self._recipes:
                self._recipes[parts] = recipe_digest(*parts)
            self._recipes[path] = self._recipes[parts]
        return self._recipes[path]

    def key(self, path: str) -> str:
        """Return the key of a file: a digest of all that it is made from."""
        if path not in self._keys:
            task = self.tasks[path]
            self._keys[path] = key_of_file(
                self.recipe(path), task.seeds, self._reads(task), self._gaps_read(task)
            )
        return self._keys[path]

    def made_by(self, path: str) -> Provenance:
        """Return the provenance of a file once it is made."""
        task = self.tasks[path]
        return made_by(self.order(path), surroundings_of(task.programs))

    def _made_of(self, path: str) -> dict[str, Any]:
        """Return the parts of a file's provenance that follow from its inputs, and its key."""
        task = self.tasks[path]
        few = {"printed": [*task.printed], "gaps": self._gaps_read(task)}
        return {
            "reads": self._reads(task),
            KEY: self.key(path),
            **{name: found for name, found in few.items() if found},
        }

    def _reads(self, task: Task) -> dict[str, str]:
        """Return the seeds of all inputs that a program makes, such as 1-10,12, by recipe."""
        covered: dict[str, set[int]] = {}
        for path in task.reads:
            if path in self.tasks:
                covered.setdefault(self.recipe(path), set()).update(self.tasks[path].seeds)
        return {recipe: format_seeds(sorted(seeds)) for recipe, seeds in covered.items()}

    def planned_with(self, path: str) -> str:
        """Return a digest of the code and the tables as printed that a file is planned with."""
        task = self.tasks[path]
        return planned_with(task.programs, task.printed if task.published else ())

    def is_made_otherwise(self, output: str, path: str, folder: Path = Path()) -> bool:
        """Say whether an output below a folder has another key than planned, or is damaged."""
        stage = self.tasks[path].stage
        checksums = folder / checksum_file(Path(path)) if stage == "table" else Path()
        try:
            return not has_key(folder / output, stage, self.key(path), checksums)
        except Exception:
            # A damaged byte can make any reader fail in any way.
            return True

    def difference(self, output: str, path: str) -> str:
        """Return in words how a file was made otherwise than planned; empty if its inputs were.

        Settings are left to `replication.plan.other_settings`.
        """
        if self.tasks[path].stage == "figure":
            table = self.tasks[path].reads[0]
            return "" if self.is_made_otherwise(table, table) else PICTURE_CHANGED
        try:
            found = read_record(Path(output))
        except Exception:
            return "it is damaged"
        return ", ".join(differences(found, self.made_by(path)))

    def closure(self, paths: Iterable[str]) -> Iterator[tuple[str, Task]]:
        """Yield path and task of some files and of all that they are made from, each once."""
        seen: set[str] = set()
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path not in seen and path in self.tasks:
                seen.add(path)
                yield path, self.tasks[path]
                waiting.extend(self.tasks[path].reads)

    def seconds(self, path: str, records: Records) -> float | None:
        """Return the seconds of the job that makes a file; none if they are not known.

        They are those of its record, or else of the jobs beside it, or else as its operations say.
        Records are of the default settings. So they do not count for data, runs and metrics of
        other settings; evidence, verdicts and figures take seconds under any.
        """
        task = self.tasks[path]
        is_recorded = task.device != "cuda" and (
            task.stage not in MADE_BY_STUDY or _like(path, task) in self._recorded
        )
        known = records.told(record_name(path, task)) if is_recorded else None
        return task.operations / speed(task.device) or None if known is None else known

    @cached_property
    def _recorded(self) -> set[tuple[str, str]]:
        """Folder and settings of all files under the default settings, see `_like`."""
        studies = {name: each.study for name, each in self.studies.items()}
        default = configure({}, studies)
        jobs = self if self.configuration == default else Jobs.of(default, studies)
        return {_like(path, task) for path, task in jobs.tasks.items()}

    def seconds_of(self, paths: Iterable[str], records: Records) -> Iterator[float]:
        """Yield the seconds of every job that makes some files from nothing, each job once.

        A job whose time is not known takes none.
        """
        names = {record_name(path, task): path for path, task in self.closure(paths)}
        for path in names.values():
            yield self.seconds(path, records) or 0.0

    def longest_chain(self, paths: Iterable[str], records: Records) -> float:
        """Return the seconds of the longest chain of jobs, each of which reads from the one before.

        No number of processors makes the files from nothing in less. A job whose time is not known
        takes none.
        """
        tasks, ends = dict(self.closure(paths)), dict[str, float]()
        reads = {
            path: [each for each in task.reads if each in tasks] for path, task in tasks.items()
        }
        for path in TopologicalSorter(reads).static_order():
            own = self.seconds(path, records) or 0.0
            ends[path] = own + max((ends[each] for each in reads[path]), default=0.0)
        return max(ends.values(), default=0.0)

    def settings_digest(self, path: str) -> str:
        """Return a digest of all settings and seeds of a file, however seeds are cut into jobs."""
        seeds: dict[str, set[int]] = {}
        for _, task in self.closure([path]):
            key = digest([task.program, task.settings])
            seeds.setdefault(key, set()).update(task.seeds)
        published = [
            digest(Path(file).read_text(encoding="utf-8")) for file in self.tasks[path].published
        ]
        return digest([sorted((key, sorted(found)) for key, found in seeds.items()), published])

    def _input(self, task: Task, path: str, place: str) -> Input:
        """Return an input of a task by its path in the table, which may stand in another place."""
        if path not in self.tasks:
            return Input(path=place, role="published" if path in task.published else "source")
        made = self.tasks[path]
        is_metric = made.stage == "metrics"
        return Input(
            path=place,
            role=made.stage,
            key=self.key(path),
            seeds=format_seeds(made.seeds),
            settings=made.settings if is_metric else None,
            program=made.program if is_metric else "",
            gaps=list(self._gaps(task, path)),
        )

    def _gaps(self, task: Task, path: str) -> tuple[str, ...]:
        """Return the gaps of an input that say which of its seeds count for a task."""
        is_judged = task.stage == "evidence" and path in self.tasks
        return self.tasks[path].gaps if is_judged else ()

    def _gaps_read(self, task: Task) -> list[str]:
        """Return the gaps of all inputs, see `_gaps`."""
        return sorted({gap for each in task.reads for gap in self._gaps(task, each)})


def _like(path: str, task: Task) -> tuple[str, str]:
    """Return what a file shares with the files beside it that take as long for a seed."""
    return os.path.dirname(path), task.digest


def _study_jobs(study: Study, configuration: Configuration) -> StudyJobs:
    parts = _read_study(study, configuration)
    papers = list(_paper_configurations(study, configuration.computation))
    if any(parts.settings == paper.section(study.name) for paper in papers):
        return parts
    defaults, *at_scale = papers
    known = [_read_study(study, defaults)]
    for paper in at_scale:
        # Where the study refuses to compute the paper's scale, nothing that it computes is of it.
        with suppress(InputError):
            known.append(_read_study(study, paper))
    return without_published(parts, known)


def _paper_configurations(study: Study, computation: Computation) -> Iterator[Configuration]:
    """Yield the settings of published values: the defaults, then the paper's scale.

    The overlay `paper_scale_given.yaml` adds data to the latter that only some users have.
    """
    yield configure({"computation": computation.model_dump()}, {study.name: study})
    for names in (("paper_scale",), ("paper_scale", "paper_scale_given")):
        if paper := _overlaid(study, computation, names):
            yield paper


def paper_scale(study: Study, computation: Computation) -> Configuration | None:
    """Return the settings of a study's `paper_scale.yaml`; none if there are none to use."""
    return _overlaid(study, computation, ("paper_scale",))


def _overlaid(study: Study, computation: Computation, names: Iterable[str]) -> Configuration | None:
    """Return the settings of overlays in a study's folder; none if there are none to use."""
    paths = [study.folder / f"{name}.yaml" for name in names]
    if not all(path.exists() for path in paths):
        return None
    section: Any = {}
    for path in paths:
        section = merge(section, read_overlay(path).get(study.name, {}))
    with suppress(InputError):
        changes = {"computation": computation.model_dump(), study.name: section}
        return configure(changes, {study.name: study})
    return None


def _read_study(study: Study, configuration: Configuration) -> StudyJobs:
    settings = configuration.section(study.name)
    registry = read_registry(study.folder / "registry.yaml")
    where = f"configuration: {study.name}"
    _check_own(settings, registry, where)
    experiments = study.experiments(settings, configuration.computation)
    refuse_without_gpu(where, experiments.values(), configuration.computation)
    parts = StudyJobs(
        study,
        settings,
        experiments,
        study.variants(settings),
        registry.with_added(settings.claims, {}, study.counted(settings)),
    )
    found = claim_departures(parts)
    return replace(parts, registry=parts.registry.with_added({}, found)) if found else parts


def _check_own(settings: Any, registry: Registry, where: str) -> None:
    """Refuse claims and texts of a user's own in the place of others, or of no figure."""
    figures = list(settings.figures)
    taken = {claim.id for claim in registry.claims}
    for number, claim in settings.claims.items():
        place = f"{where} > claims > {number}"
        if claim is None:
            if number not in taken:
                raise InputError(f"{place}: {unknown_key(number, sorted(taken), 'claim')}")
            continue
        if number in taken:
            raise InputError(
                f"{place}: the registry already has a claim with this id; choose another id"
            )
        if claim.figure and claim.figure not in figures:
            raise InputError(f"{place} > figure: {unknown_key(claim.figure, figures)}")
    for name, text in settings.texts.items():
        place = f"{where} > texts > {name}"
        if name in registry.figures:
            raise InputError(
                f"{place}: the registry already describes this figure; choose another name"
            )
        if name not in figures:
            raise InputError(f"{place}: {unknown_key(name, figures)}")
        for key in ("drawn", "caption"):
            _check_template(getattr(text, key), f"{place} > {key}")


def _check_template(text: str, where: str) -> None:
    """Refuse a text that is no template of texts, before anything is computed for it."""
    from jinja2 import TemplateSyntaxError

    from replication.judge.citation import ENVIRONMENT

    try:
        ENVIRONMENT.compile(text)
    except TemplateSyntaxError as error:
        raise InputError(f"{where}: line {error.lineno} cannot be read: {error.message}") from error
