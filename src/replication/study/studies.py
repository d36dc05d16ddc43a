"""Studies of the project: they are found by their folders, and checked against the contract."""

import importlib
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any

from replication.base.code_digest import is_module
from replication.base.errors import InputError
from replication.base.places import PROJECT, SOURCE
from replication.base.strict import Strict
from replication.study.contract import Experiment, Job, MetricOf, Seeded, StudySettings
from replication.study.seeds import batches, seed_list

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
        here = self.folder / "README.md"
        return here if here.is_file() else PROJECT / "README.md"

    @property
    def settings(self) -> type[StudySettings]:
        """Type of the study's section of the configuration."""
        return self.module.Settings  # type: ignore[no-any-return]

    @property
    def figures(self) -> str:
        """Folder of the study's figures, below the working folder."""
        return getattr(self.module, "FIGURES", f"figures/{self.name}")

    @property
    def is_default(self) -> bool:
        """True if a plain `snakemake` computes the study."""
        return getattr(self.module, "DEFAULT", False)

    @property
    def names(self) -> dict[str, str]:
        """Names that texts use for values: `called("cr")` is CR."""
        return getattr(self.module, "NAMES", {})

    @property
    def page(self) -> str:
        """Path of the study's page."""
        return f"results/report/{self.name}.html"

    @property
    def scorecard(self) -> str:
        """Path of the study's table of verdicts."""
        return f"results/{self.name}/verdicts.md"

    def call_optional(self, name: str, *arguments: Any) -> Any:
        """Return the result of an optional function of `study.py`, or an empty one without it."""
        return getattr(self.module, name, lambda *_: {})(*arguments)

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
        constants = vars(self.module)
        data, sources = constants.get("DATA", ""), constants.get("SOURCES", ())
        gaps = constants.get("GAPS", ())
        parts = batches(seed_list(found.seeds), size)
        metric: Any = MetricOf.__class_getitem__(type(found.training))
        return Experiment(
            data={
                f"{name}/{part}": Job("data", getattr(found.training, data), seeds, sources)
                for part, seeds in (parts.items() if data else ())
            },
            runs={
                part: Job(
                    "training", found.training, seeds, (f"{name}/{part}",) if data else (),
                    gaps=gaps,
                )
                for part, seeds in parts.items()
            },
            metrics={
                **{
                    each: Job("metrics", metric(training=found.training, metric=each))
                    for each in constants["METRICS"]
                },
                "fingerprint": Job("replication.study.fingerprint", Strict()),
            },
        )  # fmt: skip

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

    def program(self, name: str) -> str:
        """Return the full name of a program that a job names; an `InputError` if there is none."""
        for full in (f"{self.package}.{name}", name):
            if is_module(full):
                return full
        raise InputError(f"{self.folder}: has no module {name}, which a job or a claim names")


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
        if not is_study_name(folder.name) or folder.name in found:
            raise InputError(f"{folder}: a study cannot be called {folder.name}; rename the folder")
        try:
            module = importlib.import_module(".".join([*folder.relative_to(SOURCE).parts, "study"]))
        except (ImportError, SyntaxError) as error:
            raise InputError(f"{folder}: cannot be imported: {error}") from error
        fields = getattr(getattr(module, "Settings", None), "model_fields", {})
        if "figures" not in fields or not {"METRICS", "experiments"} & vars(module).keys():
            raise InputError(
                f"{path}: has no Settings with figures, or no METRICS and no experiments; see"
                " replication/study/contract.py"
            )
        found[folder.name] = Study(folder.name, module)
    return dict(sorted(found.items(), key=lambda item: (not item[1].is_default, item[0])))


def is_study_name(name: str) -> bool:
    """Say whether a study can have a name: one of Python that means nothing else here."""
    return name.isidentifier() and not iskeyword(name) and name not in TARGETS
