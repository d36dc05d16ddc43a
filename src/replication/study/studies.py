"""Studies of the project: they are found by their folders, and checked against the contract."""

import importlib
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from replication.base.code_digest import is_module
from replication.base.errors import InputError
from replication.base.places import PROJECT, SOURCE
from replication.base.strict import Strict, unknown_key
from replication.study.contract import Experiment, Job, MetricOf, Seeded, StudySettings
from replication.study.seeds import batches, seed_list
from replication.study.variants import Variant

TARGETS = frozenset({
    "data", "runs", "metrics", "evidence", "verdict", "table", "figure", "figures", "scorecard",
    "page", "report", "verify", "plain", "everything", "reference", "provenance", "verdicts",
    "dataset", "datasets", "index", "study", "captions", "targets",
})  # fmt: skip
"""Names that mean something else on the command line or on the page."""


@dataclass(frozen=True)
class Study:
    """A study that was found."""

    name: str
    """Name of the folder, of the section of the configuration and of the results."""
    module: ModuleType
    """Module `study.py` of the folder."""

    @property
    def package(self) -> str:
        """Full name of the folder as a package."""
        return self.module.__name__.removesuffix(".study")

    @property
    def folder(self) -> Path:
        """Path of the folder."""
        return Path(str(self.module.__file__)).parent

    @property
    def readme(self) -> Path:
        """Path of the study's README: in its folder, or else that of the project."""
        own = self.folder / "README.md"
        return own if own.is_file() else PROJECT / "README.md"

    @property
    def settings(self) -> type[StudySettings]:
        """Type of the study's section of the configuration."""
        return self.module.Settings  # type: ignore[no-any-return]

    @property
    def figures(self) -> str:
        """Folder of the study's figures, below the working folder."""
        return getattr(self.module, "FIGURES", f"figures/{self.name}")

    @property
    def is_home(self) -> bool:
        """True if the study's figures stand in `figures/` itself."""
        return self.figures == "figures"

    @property
    def is_default(self) -> bool:
        """True if a plain `snakemake` computes the study."""
        return getattr(self.module, "DEFAULT", False)

    @property
    def drawn_beside(self) -> dict[str, str]:
        """Marks of each kind of figure that its table lacks, as it should, in words."""
        return getattr(self.module, "DRAWN_BESIDE", {})

    @property
    def names(self) -> dict[str, str]:
        """Names that texts use for values: `called("cr")` is CR."""
        return getattr(self.module, "NAMES", {})

    @property
    def rules(self) -> list[Path]:
        """Files of the study's own rules."""
        return list(self.folder.glob("rules.smk"))

    @property
    def page(self) -> str:
        """Path of the study's page."""
        return f"results/report/{self.name}.html"

    @property
    def scorecard(self) -> str:
        """Path of the study's table of verdicts."""
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
        """Return an overlay of the study's section that leaves one seed of every experiment."""
        if hasattr(self.module, "one_seed"):
            return self.module.one_seed(settings, random)  # type: ignore[no-any-return]
        return {
            "experiments": {
                name: {"seeds": {"first": random.choice(seed_list(found.seeds)), "count": 1}}
                for name, found in settings.experiments.items()
            }
        }

    def variants(self, settings: Strict) -> dict[str, Variant]:
        """Return the variants of the study's experiments by name, the baseline first."""
        return self._call_optional("variants", settings)  # type: ignore[no-any-return]

    def counted(self, settings: Strict) -> list[str]:
        """Return the rules of robustness that do not apply to settings, by their `cells`."""
        return [*self._call_optional("counted", settings)]

    def datasets(self, settings: Strict) -> dict[str, Any]:
        """Return facts about the data of the study, by name."""
        return self._call_optional("datasets", settings)  # type: ignore[no-any-return]

    def smallest(self, settings: Strict, folder: Path) -> dict[str, Any]:
        """Return an overlay under which all jobs take seconds; empty if they do anyway.

        The folder is for files that the overlay names, such as a small data set.
        """
        return self._call_optional("smallest", settings, folder)  # type: ignore[no-any-return]

    def program(self, name: str) -> str:
        """Return the full name of a program that a job names; an `InputError` if there is none."""
        for full in (f"{self.package}.{name}", name):
            if is_module(full):
                return full
        raise InputError(f"{self.folder}: has no module {name}, which a job or a claim names")

    def _call_optional(self, name: str, *arguments: Any) -> Any:
        return getattr(self.module, name, lambda *_: {})(*arguments)


def _import(name: str, folder: Path) -> ModuleType:
    """Import a module of a study; an `InputError` names a file that cannot be read or imported."""
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
def find_studies() -> dict[str, Study]:
    """Return the studies of the project, those of a plain run first.

    A study is a package of its own, or a folder of a package. An `InputError` if two studies have
    the same name, a name has another meaning, or a study cannot be imported or lacks a part of the
    contract.
    """
    found: dict[str, Study] = {}
    for path in sorted([*SOURCE.glob("*/study.py"), *SOURCE.glob("*/*/study.py")]):
        folder = path.parent
        if not is_study_name(folder.name):
            raise InputError(f"{folder}: a study cannot be called {folder.name}; rename the folder")
        if folder.name in found:
            raise InputError(f"{folder}: there is another study {folder.name}; rename the folder")
        module = _import(".".join([*folder.relative_to(SOURCE).parts, "study"]), folder)
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
            f"{path}: its Settings must inherit from StudySettings;"
            " see replication/study/contract.py"
        )
    if "figures" not in module.Settings.model_fields:
        raise InputError(f"{path}: its Settings have no figures; see replication/study/contract.py")
