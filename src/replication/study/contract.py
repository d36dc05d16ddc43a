"""The contract between the engine and a paper: the contents of a study's folder.

A study is one folder below `src/` of a project: a package, or a folder of one. Its `study.py` has

    Settings                                 its section of the configuration, `StudySettings`
                                             with `figures` by name, see `FiguresOf`, and
                                             `experiments: dict[str, Seeded[...]]`
    METRICS                                  names of its metrics
    DATA                                     optional: setting of a training that is given to `data`
    SOURCES                                  optional: paths of files that `data` reads
    GAPS                                     optional: see `Job.gaps`; trainings may diverge then
    variants(settings)                       optional: other readings that claims are tried under
    datasets(settings)                       optional: facts about its data, by name
    smallest(settings, folder)               optional: overlay for tests under which all jobs take
                                             seconds; the files that it needs go to the folder
    FIGURES, DEFAULT                         optional: folder of its figures; part of a plain run
    DRAWN_BESIDE                             optional: marks that are not in a table, by kind
    NAMES                                    optional: names for values of settings and tables

That is an ordinary study: a training per seed, by `training`, and tables of all of them, by
`metrics`; the metric `fingerprint` is the engine's. In place of these constants any other has

    experiments(settings, computation)       its jobs: experiments by name
    one_seed(settings, random)               overlay that leaves one seed of every experiment

and beside `study.py` stand `config.yaml` (its defaults), `registry.yaml` (claims and captions),
`README.md` and `published/` (tables as printed); `explorer/`, if there is one, is a part of its
page, see `replication/report/explorer.py`. Its programs are modules with pure functions:

    sample(job, seeds, sources) -> arrays            data
    train(job, seeds, data, checkpoint) -> arrays    runs, the first axis of every array the seed
    measure(job, runs, data) -> table                metrics
    table(figure, *measured) -> table                figures/*.py, the numbers of a figure
    draw(figure, table, published) -> figure         figures/*.py
    <evidence>(*measured, [published]) -> table      claims/*.py, the evidence of a claim

A function of evidence whose data do not suffice raises `UnmeasurableError`: its claim is untested.
The type of the first parameter is the type of the settings. A figure or a claim that `uses` keys of
the study's section gets these keys by name, too; a parameter with the name of a key is no table. A
parameter `Measured[Settings]` takes only metrics that were made by such settings.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from replication.base.code_digest import is_module
from replication.base.errors import InputError
from replication.base.places import PROJECT, SOURCE
from replication.base.strict import Name, Strict, unknown_key
from replication.study.claims import Number, OwnClaim
from replication.study.registry import FigureText
from replication.study.seeds import SeedRange, batches, seed_list
from replication.study.variants import Variant

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[np.generic]]

JobSettings = TypeVar("JobSettings")
TARGETS = frozenset({
    "data", "runs", "metrics", "evidence", "verdict", "table", "figure", "figures", "scorecard",
    "page", "report", "verify", "plain", "everything", "reference", "provenance", "verdicts",
    "dataset", "datasets", "index", "study", "captions",
})  # fmt: skip
"""Names that mean something else on the command line or on the page."""


class Job(NamedTuple):
    """A program with its settings, seeds and inputs, which makes one file."""

    program: str
    """Module of the study's folder, or full name of any module."""
    settings: Strict
    """Settings of the program; jobs that share settings share the object."""
    seeds: tuple[int, ...] = ()
    """Seeds that the file covers; none if it depends on no seed."""
    reads: tuple[str, ...] = ()
    """Names of the data that the job reads; for a job of data, paths of files that no job makes."""
    memory: int = 1500
    """Memory in MB."""
    minutes: int = 30
    """Longest time in minutes."""
    operations: float = 0.0
    """Floating-point operations of the matrix products of a training; 0 if not counted."""
    gaps: tuple[str, ...] = ()
    """Patterns of the names of arrays of runs that may hold values that are not finite, from a
    training that diverged or for unknown values. Any other array with such values is refused."""


class Experiment(NamedTuple):
    """The jobs of one experiment, by file name."""

    runs: dict[str, Job]
    """Training runs; each metric reads all of them, in this order."""
    metrics: dict[str, Job]
    """Tables of all runs. The table `fingerprint` has the columns `seed`, `digest`, words or whole
    numbers that tell runs of a seed apart, and a few numbers with fractions."""
    data: dict[str, Job] = {}
    """Data that runs read. Experiments may share data, which then have the same name."""


class Run(NamedTuple):
    """One file of runs, read."""

    name: str
    """Name of the file."""
    seeds: list[int]
    """Seeds that the file covers."""
    arrays: "Arrays"
    """Arrays that `train` returned."""


class Measured(NamedTuple, Generic[JobSettings]):
    """One metric of an experiment, read."""

    table: "pd.DataFrame"
    """Table that `measure` returned."""
    job: JobSettings
    """Settings of the job that made the table."""


class Seeded(Strict, Generic[JobSettings]):
    """An ordinary experiment: trainings that differ in their seed alone."""

    seeds: SeedRange
    """Seeds of the runs."""
    training: JobSettings
    """Settings of the training."""


class MetricOf(Strict, Generic[JobSettings]):
    """Settings of a metric of an ordinary study."""

    training: JobSettings
    """Settings of the training that made the runs."""
    metric: str
    """Name of the metric."""


class Figure(Strict):
    """Base of the settings of one figure; its module has `table` and `draw`, too."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Keys of the study's section that `table` takes by name."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Columns of the figure's table."""
    published_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of numbers of its published table."""
    title: ClassVar[str]
    """Title in the metadata of the picture."""
    is_costly: ClassVar[bool] = False
    """True if a plain `snakemake` leaves the figure to `snakemake everything`."""
    picture: ClassVar[str] = "svg"
    """Format of the picture on a page: `png` for heat maps, which are smaller and seamless then."""
    kind: str
    """Kind of the figure, and of its texts in the registry."""
    published: str | None = None
    """Table of published values in the figure: a file of the study's folder `published`, or the
    absolute path of another CSV."""

    @model_validator(mode="after")
    def _check_published(self) -> Self:
        if self.published is not None and not self.published_columns:
            raise ValueError(
                f"published: a figure of kind '{self.kind}' shows no table; remove the key"
            )
        return self

    def sources(self) -> list[tuple[str, str]]:
        """Return experiment and metric of each table of the figure; none if it is theory."""
        return []


class StudySettings(Strict):
    """Base of a study's section of the configuration, with additions to its registry."""

    claims: dict[Number, OwnClaim] = {}
    """Claims of your own by number, such as `U1`, with evidence by the study's functions."""
    texts: dict[str, FigureText] = {}
    """Texts of figures of your own, by name."""


class FiguresOf:
    """Mark of a mapping of figures by `Name`, in which the key `kind` names the type of each.

    A study's `Settings` has `figures: Annotated[dict[str, Figure], FiguresOf(__package__)]`, which
    takes every figure of the folder `figures`. A figure whose settings all have defaults is part of
    the configuration without an entry there, under the name of its kind.
    """

    def __init__(self, package: str | None, *others: type[Figure]) -> None:
        """Find the figures.

        Args:
            package: full name of the study's folder as a package.
            others: figures of the engine that the study has, too.

        Raises:
            InputError: if two figures have the same kind.
        """
        self._types: dict[str, type[Figure]] = {}
        folder = importlib.import_module(f"{package}.figures")
        for module in iter_modules(folder.__path__, f"{folder.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and issubclass(value, Figure):
                    self._add(value)
        for figure in others:
            self._add(figure)

    def _add(self, figure: type[Figure]) -> None:
        # Classes that are bases of figures name no kind.
        for kind in get_args(figure.model_fields["kind"].annotation):
            if self._types.setdefault(kind, figure) is not figure:
                raise InputError(f"{figure.__module__}: there is another figure of kind '{kind}'")

    def _with_defaults(self, figures: Any) -> Any:
        if not isinstance(figures, dict):
            return figures
        complete = (
            kind
            for kind, figure in self._types.items()
            if not any(item.is_required() for item in figure.model_fields.values())
        )
        # An overlay may hold only the changed settings of a figure.
        given = {kind: figures.get(kind, {}) for kind in complete}
        return figures | {
            kind: {"kind": kind} | changes
            for kind, changes in given.items()
            if isinstance(changes, dict)
        }

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        names = handler.generate_schema(Name)
        choices = {name: handler.generate_schema(figure) for name, figure in self._types.items()}
        if not choices:
            # A study may have no figures yet, and pydantic takes no union of nothing.
            return core_schema.dict_schema(names, max_length=0)
        figures = core_schema.dict_schema(names, core_schema.tagged_union_schema(choices, "kind"))
        return core_schema.no_info_before_validator_function(self._with_defaults, figures)


@dataclass(frozen=True)
class Study:
    """A study that was found."""

    name: str
    """Name of the folder, of the section of the configuration and of the results."""
    module: ModuleType
    """Module `study.py` of the folder."""

    @property
    def package(self) -> str:
        """Return the full name of the folder as a package."""
        return self.module.__name__.removesuffix(".study")

    @property
    def folder(self) -> Path:
        """Return the path of the folder."""
        return Path(str(self.module.__file__)).parent

    @property
    def readme(self) -> Path:
        """Return the path of its README: in its folder, or else that of the project."""
        own = self.folder / "README.md"
        return own if own.is_file() else PROJECT / "README.md"

    @property
    def settings(self) -> type[StudySettings]:
        """Return the type of the study's section of the configuration."""
        return self.module.Settings  # type: ignore[no-any-return]

    @property
    def figures(self) -> str:
        """Return the folder of the study's figures, below the working folder."""
        return getattr(self.module, "FIGURES", f"figures/{self.name}")

    @property
    def is_home(self) -> bool:
        """Say whether the study's figures stand in `figures/` itself."""
        return self.figures == "figures"

    @property
    def is_default(self) -> bool:
        """Say whether a plain `snakemake` computes the study."""
        return getattr(self.module, "DEFAULT", False)

    @property
    def drawn_beside(self) -> dict[str, str]:
        """Return in words the marks of each kind of figure that its table lacks, as it should."""
        return getattr(self.module, "DRAWN_BESIDE", {})

    @property
    def names(self) -> dict[str, str]:
        """Return the names that texts use for values: `called("cr")` is CR."""
        return getattr(self.module, "NAMES", {})

    @property
    def rules(self) -> list[Path]:
        """Return the files of the study's own rules."""
        return list(self.folder.glob("rules.smk"))

    @property
    def page(self) -> str:
        """Return the path of the study's page."""
        name = "index" if self.is_home and self.is_default else self.name
        return f"results/report/{name}.html"

    @property
    def scorecard(self) -> str:
        """Return the path of the study's table of verdicts."""
        return f"results/{self.name}/verdicts.md"

    def experiments(self, settings: Any, computation: Any) -> dict[str, Experiment]:
        """Return all jobs that train and measure, by name of the experiment."""
        if hasattr(self.module, "experiments"):
            return self.module.experiments(settings, computation)  # type: ignore[no-any-return]
        return {
            name: self._experiment(name, found, computation.seeds_per_job)
            for name, found in settings.experiments.items()
        }

    def _experiment(self, name: str, found: Seeded[Any], size: int | None) -> Experiment:
        """Return the jobs of an ordinary experiment."""
        parts = batches(seed_list(found.seeds), size)
        data: str = getattr(self.module, "DATA", "")
        sources = getattr(self.module, "SOURCES", ())
        known = list(type(found.training).model_fields)
        if data and data not in known:
            raise InputError(f"{self.module.__file__}: DATA: {unknown_key(data, known)}")
        metric: Any = MetricOf.__class_getitem__(type(found.training))
        own = (metric(training=found.training, metric=each) for each in self.module.METRICS)
        return Experiment(
            data={
                f"{name}/{part}": Job("data", getattr(found.training, data), seeds, sources)
                for part, seeds in (parts.items() if data else ())
            },
            runs={
                part: Job(
                    "training",
                    found.training,
                    seeds,
                    (f"{name}/{part}",) if data else (),
                    gaps=getattr(self.module, "GAPS", ()),
                )
                for part, seeds in parts.items()
            },
            metrics={
                **{job.metric: Job("metrics", job) for job in own},
                "fingerprint": Job("replication.study.fingerprint", Strict()),
            },
        )

    def one_seed(self, settings: Any, random: Any) -> dict[str, Any]:
        """Return an overlay of its section that leaves one random seed of every experiment."""
        if hasattr(self.module, "one_seed"):
            return self.module.one_seed(settings, random)  # type: ignore[no-any-return]
        return {
            "experiments": {
                name: {"seeds": {"first": random.choice(seed_list(found.seeds)), "count": 1}}
                for name, found in settings.experiments.items()
            }
        }

    def variants(self, settings: Strict) -> dict[str, Variant]:
        """Return the variants of its experiments by name, the baseline first."""
        return self._call_optional("variants", settings)  # type: ignore[no-any-return]

    def datasets(self, settings: Strict) -> dict[str, Any]:
        """Return facts about the data of the study, by name."""
        return self._call_optional("datasets", settings)  # type: ignore[no-any-return]

    def smallest(self, settings: Strict, folder: Path) -> dict[str, Any]:
        """Return an overlay under which all jobs take seconds; empty if they do anyway.

        Args:
            settings: default section of the study.
            folder: folder for files that the overlay names, such as a small data set.
        """
        return self._call_optional("smallest", settings, folder)  # type: ignore[no-any-return]

    def program(self, name: str) -> str:
        """Return the full name of a program that a job names.

        Raises:
            InputError: if there is no such module.
        """
        for full in (f"{self.package}.{name}", name):
            if is_module(full):
                return full
        raise InputError(f"{self.folder}: has no module {name}, which a job or a claim names")

    def _call_optional(self, name: str, *arguments: Any) -> Any:
        return getattr(self.module, name, lambda *_: {})(*arguments)


def _import(name: str, folder: Path) -> ModuleType:
    """Import a module of a study.

    Raises:
        InputError: if one of the study's files cannot be read, or imports what is not there.
    """
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        raise InputError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except ImportError as error:
        raise InputError(f"{folder}: cannot be imported: {error}") from error


def _parts(module: ModuleType) -> tuple[str, ...]:
    """Return what `study.py` has besides its settings; METRICS suffices for an ordinary study."""
    fields = getattr(getattr(module, "Settings", None), "model_fields", {})
    kinds = get_args(fields["experiments"].annotation) if "experiments" in fields else ()
    is_ordinary = any(isinstance(kind, type) and issubclass(kind, Seeded) for kind in kinds)
    if is_ordinary and not hasattr(module, "experiments"):
        return ("METRICS",)
    return ("experiments",) if is_ordinary else ("experiments", "one_seed")


@cache
def find_studies(source: Path = SOURCE) -> dict[str, Study]:
    """Return the studies of the project, those of a plain run first.

    A study is a package of its own, or a folder of a package.

    Raises:
        InputError: if two studies have the same name, a name has another meaning, or a study cannot
            be imported or lacks a part of the contract.
    """
    found: dict[str, Study] = {}
    for path in sorted([*source.glob("*/study.py"), *source.glob("*/*/study.py")]):
        folder = path.parent
        if not is_study_name(folder.name):
            raise InputError(f"{folder}: a study cannot be called {folder.name}; rename the folder")
        if folder.name in found:
            raise InputError(f"{folder}: there is another study {folder.name}; rename the folder")
        module = _import(".".join([*folder.relative_to(source).parts, "study"]), folder)
        _check_contract(module, path)
        found[folder.name] = Study(folder.name, module)
    return dict(sorted(found.items(), key=lambda item: (not item[1].is_default, item[0])))


def is_study_name(name: str) -> bool:
    """Say whether a study can have a name: one of Python that means nothing else here."""
    return name.isidentifier() and not iskeyword(name) and name not in TARGETS


def _check_contract(module: ModuleType, path: Path) -> None:
    """Refuse a `study.py` that lacks a part of the contract."""
    for part in ("Settings", *_parts(module)):
        if not hasattr(module, part):
            raise InputError(f"{path}: has no {part}; see replication/study/contract.py")
    if not issubclass(module.Settings, StudySettings):
        raise InputError(
            f"{path}: its Settings are no StudySettings; see replication/study/contract.py"
        )
    if "figures" not in module.Settings.model_fields:
        raise InputError(f"{path}: its Settings have no figures; see replication/study/contract.py")
