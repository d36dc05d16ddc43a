"""Inputs and parameters of the page's rule, from the table of jobs.

Modules that load pandas are imported inside functions: a run that makes no page need not wait.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.base.code_digest import locked_versions
from replication.plan.cost import costs
from replication.plan.jobs import DRAWING, Jobs
from replication.plan.orders import DocumentFile
from replication.plan.recorded_times import Records
from replication.plan.rule_inputs import file_digests
from replication.plan.stale_files import checksum_file
from replication.plan.study_jobs import StudyJobs

if TYPE_CHECKING:
    from replication.report.sources import FigureSource, FigureSources, OtherPage

PROGRAM = "replication.report.page"


@dataclass(frozen=True)
class Page:
    """The functions of the page's rule, which take the wildcards of a job."""

    jobs: Jobs
    """Table of jobs."""
    lock: Path
    """File of the pinned packages."""
    root: Path
    """The project's folder."""
    own_file: Callable[[str], Any]
    """Function that marks an input that the workflow does not make."""

    def verdicts(self, wildcards: Any) -> list[str]:
        """Return the paths of all verdicts of the study."""
        return list(self._study(wildcards).files.verdicts.values())

    def registry(self, wildcards: Any) -> Any:
        """Return the path of the study's registry."""
        return self.own_file(self._registry(wildcards))

    def figures(self, wildcards: Any) -> list[str]:
        """Return the paths of pictures, tables and checksums."""
        return self._sources(wildcards).files

    def templates(self, wildcards: Any) -> list[Any]:
        """Return the paths of the page's templates, and of the study's own."""
        return [self.own_file(path) for path in self._templates(wildcards)]

    def reproductions(self, wildcards: Any) -> list[Any]:
        """Return the paths of others' receipts, and of the files that they are checked against."""
        return [self.own_file(path) for path in self._reproductions(wildcards)]

    def study(self, wildcards: Any) -> str:
        """Return the name of the study."""
        return self._study(wildcards).study.name

    def code(self, wildcards: Any) -> list[str]:
        """Return all code and packages that the page, and everything that it shows, depends on."""
        shown = self.jobs.figure_paths(self.study(wildcards))
        paths = [*self.verdicts(wildcards), *(f"figures/{figure}" for figure in shown)]
        packages = locked_versions(self.lock, ("jinja2", "markupsafe"))
        return [
            *self.jobs.code(self.lock, paths, PROGRAM, DRAWING, *self._programs(wildcards)),
            *(f"{name}=={version}" for name, version in packages.items()),
        ]

    def contents(self, wildcards: Any) -> list[str]:
        """Return digests of the files that a person edits."""
        read = [self._registry(wildcards), *self._reproductions(wildcards)]
        return file_digests([*self._templates(wildcards), *read])

    def figures_as_json(self, wildcards: Any) -> str:
        """Return the figures as JSON, for the records: a `document` is not in the records."""
        return self._sources(wildcards).model_dump_json()

    def document(self, wildcards: Any, input: Any) -> DocumentFile:
        """Return the document with the figures, where a storage provider has put them."""
        return DocumentFile(self._sources(wildcards).with_paths(input.figures).model_dump_json())

    def _study(self, wildcards: Any) -> StudyJobs:
        return self.jobs.studies[self.jobs.pages[wildcards.page]]

    def _registry(self, wildcards: Any) -> str:
        return os.path.relpath(self._study(wildcards).study.folder / "registry.yaml")

    def _templates(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_files

        own = map(os.path.relpath, explorer_files(self.study(wildcards)))
        return [*template_files(), *own]

    def _programs(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_programs

        return explorer_programs(self.study(wildcards))

    def _reproductions(self, wildcards: Any) -> list[str]:
        from replication.verify.reproductions import compared_files

        return list(map(str, compared_files(self.root, self.study(wildcards))))

    def _sources(self, wildcards: Any) -> "FigureSources":
        return figure_sources(self.jobs, self.study(wildcards))


def template_files() -> list[str]:
    """Return the templates of the page; digests of code follow Python's imports only."""
    folder = Path(os.path.relpath(Path(__file__).parent / "templates"))
    return sorted(map(str, folder.glob("*.*")))


def figure_sources(jobs: Jobs, study: str) -> "FigureSources":
    """Return all figures of a study, from the table of jobs.

    Args:
        jobs: the table.
        study: name of the study.
    """
    from replication.report.sources import FigureSources

    records = Records.of(each.study for each in jobs.studies.values())
    return FigureSources(
        figures=[_figure_source(jobs, below) for below in jobs.figure_paths(study)],
        study=study,
        settings=jobs.studies[study].settings.model_dump(mode="json"),
        names=jobs.studies[study].study.names,
        others=[_other_page(other) for name, other in jobs.studies.items() if name != study],
        costs=costs(jobs.studies[study], records),
        own=jobs.studies[study].own,
    )


def _other_page(study: StudyJobs) -> "OtherPage":
    """Return another study; whether its page is there depends on the targets of a run."""
    from replication.report.sources import OtherPage

    return OtherPage(title=study.registry.title, command=f"snakemake {study.study.page}")


def _figure_source(jobs: Jobs, below: str) -> "FigureSource":
    """Return one figure, by its path below `figures/` without ending."""
    from replication.report.sources import FigureSource

    study, name = jobs.figures[below]
    figure = study.figures[name]
    return FigureSource(
        name=name,
        kind=figure.kind,
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
    """Return the benchmarks of all jobs behind a figure; none where verdicts are among them."""
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
