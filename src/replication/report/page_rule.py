"""What the rule of the page takes from the table of jobs.

What loads pandas is loaded where a page is made: a figure's run need not wait for it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.base.code_digest import locked_versions
from replication.plan.cost import Records, costs
from replication.plan.jobs import DRAWING, Jobs
from replication.plan.orders import Told
from replication.plan.recorded_times import RECORD
from replication.plan.rule_inputs import contents
from replication.plan.stale_files import checksum_file
from replication.plan.study_jobs import StudyJobs

if TYPE_CHECKING:
    from replication.report.sources import FigureSource, FigureSources, OtherPage

PROGRAM = "replication.report.page"


@dataclass(frozen=True)
class Page:
    """The functions of the rule, from the page's name to what its job reads and is told."""

    jobs: Jobs
    """The table."""
    lock: Path
    """The pinned packages."""
    root: Path
    """The project's folder."""
    own_file: Callable[[str], Any]
    """How an input is marked that the workflow does not make."""

    def verdicts(self, wildcards: Any) -> list[str]:
        """All verdicts of the study."""
        return list(self._study(wildcards).files.verdicts.values())

    def registry(self, wildcards: Any) -> Any:
        """What the study claims."""
        return self.own_file(self._registry(wildcards))

    def figures(self, wildcards: Any) -> list[str]:
        """Pictures, tables and checksums."""
        return self._sources(wildcards).files

    def templates(self, wildcards: Any) -> list[Any]:
        """What the page is made from besides."""
        return [self.own_file(path) for path in self._templates(wildcards)]

    def reproductions(self, wildcards: Any) -> list[Any]:
        """Receipts of others, and what they are checked against."""
        return [self.own_file(path) for path in self._reproductions(wildcards)]

    def study(self, wildcards: Any) -> str:
        """Name of the study."""
        return self._study(wildcards).study.name

    def code(self, wildcards: Any) -> list[str]:
        """All code and packages that the page depends on, from the beginning."""
        shown = self.jobs.shown(self.study(wildcards))
        paths = [*self.verdicts(wildcards), *(f"figures/{figure}" for figure in shown)]
        packages = locked_versions(self.lock, ("jinja2", "markupsafe"))
        return [
            *self.jobs.code(self.lock, paths, PROGRAM, DRAWING, *self._programs(wildcards)),
            *(f"{name}=={version}" for name, version in packages.items()),
        ]

    def contents(self, wildcards: Any) -> list[str]:
        """Digests of the files that a person edits."""
        read = [self._registry(wildcards), *self._reproductions(wildcards)]
        return contents([*self._templates(wildcards), *read])

    def planned(self, wildcards: Any) -> str:
        """The figures, as Snakemake does not record what is made from `input`."""
        return self._sources(wildcards).model_dump_json()

    def moved(self, wildcards: Any, input: Any) -> Told:
        """The figures, where a storage provider has put them."""
        return Told(self._sources(wildcards).at(input.figures).model_dump_json())

    def _study(self, wildcards: Any) -> StudyJobs:
        return self.jobs.studies[self.jobs.pages[wildcards.page]]

    def _registry(self, wildcards: Any) -> str:
        return os.path.relpath(self._study(wildcards).study.folder / "registry.yaml")

    def _templates(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_files

        own = map(os.path.relpath, explorer_files(self.study(wildcards)))
        return [*templates(), *own]

    def _programs(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_programs

        return explorer_programs(self.study(wildcards))

    def _reproductions(self, wildcards: Any) -> list[str]:
        from replication.verify.reproductions import compared_files

        return list(map(str, compared_files(self.root, self.study(wildcards))))

    def _sources(self, wildcards: Any) -> "FigureSources":
        return figure_sources(self.jobs, self.study(wildcards), self.root)


def templates() -> list[str]:
    """Files that the page is made from; digests of code follow Python's imports only."""
    folder = Path(os.path.relpath(Path(__file__).parent / "templates"))
    return sorted(map(str, folder.glob("*.*")))


def figure_sources(jobs: Jobs, study: str, root: Path) -> "FigureSources":
    """All figures of a study, from the table of jobs.

    Args:
        jobs: the table.
        study: name of the study.
        root: the project's folder.
    """
    from replication.report.sources import FigureSources

    return FigureSources(
        figures=[_figure_source(jobs, below) for below in jobs.shown(study)],
        study=study,
        settings=jobs.studies[study].settings.model_dump(mode="json"),
        names=jobs.studies[study].study.names,
        others=[_other(other) for name, other in jobs.studies.items() if name != study],
        costs=costs(jobs.studies[study], Records.read(root / RECORD)),
        own=jobs.studies[study].own,
    )


def _other(study: StudyJobs) -> "OtherPage":
    """Another study; whether its page is there depends on what is asked for."""
    from replication.report.sources import OtherPage

    return OtherPage(title=study.registry.title, command=f"snakemake {study.study.page}")


def _figure_source(jobs: Jobs, below: str) -> "FigureSource":
    """One figure, by its path below `figures/` without ending."""
    from replication.report.sources import FigureSource

    study, name = jobs.figures[below]
    figure = study.figures[name]
    return FigureSource(
        name=name,
        drawing=figure.drawing,
        picture=Path(f"figures/{below}.{figure.picture}"),
        table=Path(f"figures/{below}.csv"),
        checksum=checksum_file(Path(f"figures/{below}.csv")),
        command=f"snakemake figures/{below}.pdf",
        benchmarks=_benchmarks(jobs, below, figure.picture),
        program=type(figure).__module__,
        experiments=list(dict.fromkeys(experiment for experiment, _ in figure.sources())),
        published=next(map(Path, jobs.tasks[f"figures/{below}"].published), None),
        published_columns=list(figure.published_columns),
        n_seeds=len(study.seeds_behind(name)),
    )


def _benchmarks(jobs: Jobs, below: str, kind: str) -> dict[str, list[str]]:
    """Of all jobs that make a figure from nothing; none where verdicts are among them."""
    made = dict(jobs.closure([f"figures/{below}.csv"]))
    if any(task.stage == "verdict" for task in made.values()):
        return {}
    names = {f"logs/figures/{below}.{{}}.benchmark.tsv": ["csv", kind]}
    for path, task in made.items():
        if task.stage != "table":
            place, _, name = path.removeprefix("results/").rpartition("/")
            pattern = f"logs/{place}/{{}}.benchmark.tsv"
            names.setdefault(pattern, []).append(name.rpartition(".")[0])
    return names
