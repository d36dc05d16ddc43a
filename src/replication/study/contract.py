"""The contract between the engine and a paper: the contents of a study's folder.

A study is one folder below `src/` of a project: a package, or a folder of one. Its `study.py` has

    Settings                                 its section of the configuration, `StudySettings`
                                             with `figures` by name, see `FiguresOf`, and
                                             `experiments: dict[str, Seeded[...]]`
    METRICS                                  names of its metrics
    DATA                                     optional: setting of a training that is given to `data`
    SOURCES                                  optional: paths of files that `data` reads
    GAPS                                     optional: arrays whose gaps have a meaning, see
                                             `Job.gaps`
    variants(settings)                       optional: other readings that claims are tried under
    counted(settings)                        optional: the registry's rules of robustness, by their
                                             `cells`, that do not apply to such settings
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
from collections.abc import Iterator, Mapping
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from replication.base.errors import InputError
from replication.base.strict import Name, Strict, refuse_repeated
from replication.study.claims import Number, OwnClaim
from replication.study.registry import FigureText
from replication.study.seeds import SeedRange

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[np.generic]]

JobSettings = TypeVar("JobSettings")


class Job(NamedTuple):
    """A program with its settings, seeds and inputs, which makes one file."""

    program: str
    """Module of the study's folder, or full name of any module."""
    settings: Strict
    """Settings of the program; jobs that share settings share the object. If their `device` is
    `cuda`, the job asks for one GPU."""
    seeds: tuple[int, ...] = ()
    """Seeds that the file covers; none if it depends on no seed."""
    reads: tuple[str, ...] = ()
    """Names of the data that the job reads; for a job of data, paths of files that no job makes."""
    memory: int = 1500
    """Most memory in MB: of the machine, or of the GPU where the job computes there. A job on a GPU
    asks for as much of either."""
    minutes: int = 30
    """Longest time in minutes."""
    operations: float = 0.0
    """Floating-point operations of the matrix products of a job; 0 if not counted. They foretell
    how long a job of other settings than the defaults takes, or one on a GPU."""
    gaps: tuple[str, ...] = ()
    """Patterns of the names of arrays of runs in which values that are not finite have a meaning to
    the metrics, such as *not measured at this update*. A seed with such a value in any other array
    has diverged: comparisons that depend on its training are not measured, whatever metrics say."""


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

    def by_seed(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield every seed with its arrays, without the axis of seeds."""
        for index, seed in enumerate(self.seeds):
            yield seed, {name: values[index] for name, values in self.arrays.items()}


class Measured(NamedTuple, Generic[JobSettings]):
    """One metric of an experiment, read."""

    table: "pd.DataFrame"
    """Table that `measure` returned."""
    job: JobSettings
    """Settings of the job that made the table."""


class Seeded(Strict, Generic[JobSettings]):
    """An ordinary experiment: trainings that differ in their seed alone."""

    seeds: SeedRange
    training: JobSettings


class MetricOf(Strict, Generic[JobSettings]):
    """Settings of a metric of an ordinary study."""

    training: JobSettings
    metric: str


class Figure(Strict):
    """Base of the settings of one figure; its module has `table` and `draw`, too."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Keys of the study's section that `table` takes by name."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Columns of the figure's table."""
    published_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of numbers of the figure's published table."""
    title: ClassVar[str]
    """Title in the metadata of the picture."""
    is_costly: ClassVar[bool] = False
    """True if a plain `snakemake` leaves the figure to `snakemake everything`."""
    picture: ClassVar[str] = "svg"
    """Format of the picture on a page: `png` for heat maps, which are smaller and seamless then."""
    kind: str
    published: str | None = None
    """Table of published values in the figure: a file of the study's folder `published`, or the
    absolute path of another CSV."""

    def sources(self) -> list[tuple[str, str]]:
        """Return experiment and metric of each table of the figure; none if it is theory."""
        return []


class ExperimentFigure(Figure):
    """Base of the settings of a figure that shows metrics of one experiment."""

    metrics: ClassVar[tuple[str, ...]]
    experiment: str
    """Name of the experiment that is drawn."""

    def sources(self) -> list[tuple[str, str]]:
        """Return the metrics of the experiment."""
        return [(self.experiment, metric) for metric in self.metrics]


class StudySettings(Strict):
    """Base of a study's section of the configuration, with additions to its registry."""

    claims: dict[Number, OwnClaim | None] = {}
    """Claims of your own by number, such as `U1`, with evidence by the study's functions; `null`
    leaves out a claim of the registry."""
    texts: dict[str, FigureText] = {}
    """Texts of figures of your own, by name."""


BASELINE, AS_PUBLISHED = "baseline", "as published"
"""Name and title of the variant that is the experiments' own settings."""


class Variant(NamedTuple):
    """One other reading of the paper, or one departure from it, under which claims are judged."""

    title: str
    """Name of the variant in figures."""
    experiments: dict[str, str]
    """Name of the variant of an experiment, by name of the experiment."""


def check_titles(titles: Mapping[str, str]) -> None:
    """Refuse the name of the baseline, and two variants with one title, by a `ValueError`."""
    refuse_repeated([BASELINE, *titles])
    refuse_repeated([AS_PUBLISHED, *titles.values()])


class FiguresOf:
    """Mark of a mapping of figures by `Name`, in which the key `kind` names the type of each.

    A study's `Settings` has `figures: Annotated[dict[str, Figure], FiguresOf(__package__)]`, which
    takes every figure of the folder `figures`; `null` in an overlay removes one. A figure whose
    settings all have defaults is part of the configuration without an entry there, under the name
    of its kind.
    """

    def __init__(self, package: str | None, *others: type[Figure]) -> None:
        """Find the figures of the study's folder, a package; `others` are figures of the engine.

        An `InputError` if two figures have the same kind.
        """
        folder = importlib.import_module(f"{package}.figures")
        modules = (
            importlib.import_module(each.name)
            for each in iter_modules(folder.__path__, f"{folder.__name__}.")
        )
        found = [value for module in modules for value in vars(module).values()]
        self._types: dict[str, type[Figure]] = {}
        for figure in (*found, *others):
            if isinstance(figure, type) and issubclass(figure, Figure):
                # Classes that are bases of figures name no kind.
                for kind in get_args(figure.model_fields["kind"].annotation):
                    if self._types.setdefault(kind, figure) is not figure:
                        raise InputError(f"{figure.__module__}: there is another figure '{kind}'")

    def _with_defaults(self, figures: Any) -> Any:
        if not isinstance(figures, dict):
            return figures
        # An overlay may hold only the changed settings of a figure, or `null`, which removes it.
        whole = {
            kind: {"kind": kind}
            for kind, figure in self._types.items()
            if not any(item.is_required() for item in figure.model_fields.values())
        }
        figures = figures | {kind: {} for kind in whole if kind not in figures}
        return {
            name: whole.get(name, {}) | found if isinstance(found, dict) else found
            for name, found in figures.items()
            if found is not None
        }

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        choices = {kind: handler.generate_schema(figure) for kind, figure in self._types.items()}
        figures = core_schema.dict_schema(
            handler.generate_schema(Name), core_schema.tagged_union_schema(choices, "kind")
        )
        return core_schema.no_info_before_validator_function(self._with_defaults, figures)
