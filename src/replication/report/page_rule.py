"""Inputs and parameters of the rules of the site, from the table of jobs.

Modules that load pandas are imported inside functions: a run that makes no page need not wait.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.base.code_digest import installed_versions
from replication.base.stamp import files_beside, read_stamp
from replication.plan.collecting import Edited, collected_key
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.orders import DocumentFile, file_digests
from replication.plan.stale_files import checksum_file
from replication.plan.study_jobs import StudyJobs
from replication.plan.tasks import DRAWING
from replication.plan.times import Records
from replication.study.registry import SCORECARD

if TYPE_CHECKING:
    from replication.report.sources import FigureSource, FigureSources, IndexSources, Site

PROGRAM = "replication.report.page"
INDEX_PROGRAM = "replication.report.index"
SITE = "results/report"
"""Folder of all pages."""
WHOLE_SITE = {"report", "everything"}
"""Targets that make the index, and the page of each study."""
COMMAND = "snakemake results/report/{}.html"
"""Command that makes the page of a study."""


@dataclass(frozen=True)
class _SiteRule:
    """The fields of the rules of the site."""

    jobs: Jobs
    """Table of jobs."""
    lock: Path
    """File of the pinned packages."""
    root: Path
    """The project's folder."""
    own_file: Callable[[str], Any]
    """Function that marks an input that the workflow does not make."""
    pages: list[str]
    """Names of the studies whose pages a target without a study makes."""
    targets: Callable[[], Iterable[str]]
    """Function that returns what the user asked for, once rules are asked for their inputs."""

    def _code(self, paths: Iterable[str], *programs: str) -> list[str]:
        """Return all code and packages that programs, the templates and some files depend on."""
        packages = installed_versions(("jinja2", "markupsafe"))
        return [
            *self.jobs.code(paths, *programs),
            *(f"{name}=={version}" for name, version in packages.items()),
        ]

    @cached_property
    def _site(self) -> "Site":
        """Pages that are asked for or there already; fixed, before this run makes one of them."""
        from replication.report.sources import INDEX, Site

        targets = {*self.targets()}
        asked = {*self.pages} if targets & WHOLE_SITE else set()

        def is_there(path: str) -> bool:
            return path in targets or os.path.exists(path)

        index = f"{SITE}/{INDEX}"
        return Site(
            pages=[
                name
                for name, study in self.jobs.studies.items()
                if name in asked or name in targets or is_there(study.study.page)
            ],
            command=COMMAND,
            index=INDEX if asked or is_there(index) else "",
        )


class Page(_SiteRule):
    """The functions of the page's rule, which take the wildcards of a job."""

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
        """Return the paths of others' receipts, and of the references that the page is shown with.

        These are the reference that receipts are checked against, and those of the paper's other
        studies, with their registries.
        """
        return [self.own_file(path) for path in self._reproductions(wildcards)]

    def code(self, wildcards: Any) -> list[str]:
        """Return all code and packages that the page, and everything that it shows, depends on."""
        shown = self.jobs.figure_paths(wildcards.study)
        paths = [*self.verdicts(wildcards), *(f"figures/{figure}" for figure in shown)]
        return self._code(paths, PROGRAM, DRAWING, *self._programs(wildcards))

    def contents(self, wildcards: Any) -> list[str]:
        """Return digests of the files that a person edits."""
        return file_digests(self._edited_files(wildcards))

    def edited(self, wildcards: Any, input: Any) -> DocumentFile:
        """Return the document with code and files that may be edited while the page is written."""
        return self._edited(wildcards).document

    def key(self, wildcards: Any, input: Any = None) -> str:
        """Return the key of the page. Links to other pages, and the commit, are not part of it."""
        shown = [f"figures/{figure}" for figure in self.jobs.figure_paths(wildcards.study)]
        paths = [*self.verdicts(wildcards), *shown, *(f"{figure}.csv" for figure in shown)]
        told = figure_sources(self.jobs, wildcards.study).model_dump_json()
        return collected_key(self.jobs, paths, self._edited(wildcards), told)

    def is_current(self, wildcards: Any) -> bool:
        """Say whether the page and its folder are as they were made, by the present plan."""
        page = Path(self._study(wildcards).study.page)
        found = read_stamp(page.read_bytes(), page.suffix, files_beside(page))
        return found == self.key(wildcards)

    def figures_as_json(self, wildcards: Any) -> str:
        """Return the figures as JSON, for the records: a `document` is not in the records."""
        return self._sources(wildcards).model_dump_json()

    def document(self, wildcards: Any, input: Any) -> DocumentFile:
        """Return the document with the figures, where a storage provider has put them."""
        return DocumentFile(self._sources(wildcards).with_paths(input.figures).model_dump_json())

    def _study(self, wildcards: Any) -> StudyJobs:
        return self.jobs.studies[wildcards.study]

    def _registry(self, wildcards: Any) -> str:
        return os.path.relpath(self._study(wildcards).study.folder / "registry.yaml")

    def _templates(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_files

        own = map(os.path.relpath, explorer_files(wildcards.study))
        return [*template_files(), *own, *self._findings(wildcards)]

    def _findings(self, wildcards: Any) -> list[str]:
        path = self._study(wildcards).study.readme
        return [os.path.relpath(path)] if path.is_file() else []

    def _references(self, wildcards: Any) -> list[str]:
        from replication.report.site import studies_of_paper

        names = [study.name for study in studies_of_paper(wildcards.study)]
        return reference_files(self.root, names)

    def _edited_files(self, wildcards: Any) -> list[str]:
        read = [self._registry(wildcards), *self._reproductions(wildcards)]
        return [*self._templates(wildcards), *read]

    def _edited(self, wildcards: Any) -> Edited:
        programs = [PROGRAM, *self._programs(wildcards)]
        return Edited.now(programs, self._edited_files(wildcards))

    def _programs(self, wildcards: Any) -> list[str]:
        from replication.report.explorer import explorer_programs

        return explorer_programs(wildcards.study)

    def _reproductions(self, wildcards: Any) -> list[str]:
        from replication.verify.reproductions import receipt_files

        receipts = map(str, receipt_files(self.root, wildcards.study))
        return [*dict.fromkeys([*receipts, *self._references(wildcards)])]

    def _sources(self, wildcards: Any) -> "FigureSources":
        pages = [*dict.fromkeys([*self._site.pages, wildcards.study])]
        site = self._site.model_copy(update={"pages": pages})
        return figure_sources(self.jobs, wildcards.study, site)


class Index(_SiteRule):
    """The functions of the index's rule."""

    def verdicts(self, _: Any) -> list[str]:
        """Return the paths of all verdicts of these studies."""
        return [path for name in self.pages for path in self._verdicts(name)]

    def pictures(self, _: Any) -> list[str]:
        """Return the paths of the pictures of scorecards."""
        return list(self._pictures().values())

    def others(self, _: Any) -> list[Any]:
        """Return the paths of templates, registries, and verdicts of the other studies."""
        return [self.own_file(path) for path in self._read()]

    def code(self, wildcards: Any) -> list[str]:
        """Return all code and packages that the index, and everything in it, depends on."""
        paths = [*self.verdicts(wildcards), *map(_without_ending, self.pictures(wildcards))]
        return self._code(paths, INDEX_PROGRAM, DRAWING)

    def contents(self, _: Any) -> list[str]:
        """Return digests of the files that a person edits."""
        return file_digests(self._read())

    def edited(self, _: Any, input: Any) -> DocumentFile:
        """Return the document with code and files that may be edited while the index is written."""
        return self._edited().document

    def key(self, _: Any, input: Any = None) -> str:
        """Return the key of the index."""
        pictures = map(_without_ending, self._pictures().values())
        paths = [*self.verdicts(_), *pictures]
        return collected_key(self.jobs, paths, self._edited(), self._sources().model_dump_json())

    def is_current(self, _: Any) -> bool:
        """Say whether the index is as it was made, by the present plan."""
        from replication.report.sources import INDEX

        index = Path("results/report", INDEX)
        return read_stamp(index.read_bytes(), index.suffix) == self.key(_)

    def _edited(self) -> Edited:
        return Edited.now([INDEX_PROGRAM], self._read())

    def as_json(self, _: Any) -> str:
        """Return the studies as JSON, for the records."""
        return self._sources().model_dump_json()

    def document(self, _: Any, input: Any) -> DocumentFile:
        """Return the document with the studies, where a storage provider has put their files."""
        verdicts, pictures = iter(input.verdicts), iter(input.pictures)
        moved = {
            "verdicts": {
                name: [Path(next(verdicts)) for _ in self._verdicts(name)] for name in self.pages
            },
            "pictures": {name: Path(next(pictures)) for name in self._pictures()},
        }
        return DocumentFile(self._sources().model_copy(update=moved).model_dump_json())

    def _sources(self) -> "IndexSources":
        from replication.report.sources import INDEX, Site

        return index_sources(self.jobs, Site(pages=self.pages, command=COMMAND, index=INDEX))

    def _verdicts(self, study: str) -> list[str]:
        return list(self.jobs.studies[study].files.verdicts.values())

    def _pictures(self) -> dict[str, str]:
        studies = {name: self.jobs.studies[name] for name in self.pages}
        return {
            name: f"{_without_ending(study.table(SCORECARD))}.{study.figures[SCORECARD].picture}"
            for name, study in studies.items()
            if SCORECARD in study.figures
        }

    def _read(self) -> list[str]:
        return [*template_files(), *reference_files(self.root, self.jobs.studies)]


def _without_ending(path: str) -> str:
    return path.rpartition(".")[0]


def template_files() -> list[str]:
    """Return the templates of the page; digests of code follow Python's imports only."""
    folder = Path(os.path.relpath(Path(__file__).parent / "templates"))
    return sorted(map(str, folder.glob("*.*")))


def reference_files(root: Path, studies: Iterable[str]) -> list[str]:
    """Return the paths of the registries of studies, and of the verdicts in their references."""
    from replication.bundle.bundle import VERDICTS, reference_folder
    from replication.study.studies import find_studies

    found = find_studies()
    paths = [
        path
        for name in studies
        for path in (found[name].folder / "registry.yaml", reference_folder(root, name) / VERDICTS)
    ]
    return [os.path.relpath(path) for path in paths if path.is_file()]


def figure_sources(jobs: Jobs, study: str, site: "Site | None" = None) -> "FigureSources":
    """Return all figures of a study, from the table of jobs.

    Args:
        jobs: the table.
        study: name of the study.
        site: pages that are made together.
    """
    from replication.report.sources import FigureSources, Site

    records = Records.of(each.study for each in jobs.studies.values())
    return FigureSources(
        figures=[_figure_source(jobs, below) for below in jobs.figure_paths(study)],
        study=study,
        settings=jobs.studies[study].settings.model_dump(mode="json"),
        names=jobs.studies[study].study.names,
        site=site or Site(),
        cost=cost_in_words(cost_of_study(jobs, study, records)),
        own=jobs.studies[study].own,
    )


def index_sources(jobs: Jobs, site: "Site") -> "IndexSources":
    """Return all studies with their costs, from the table of jobs.

    Args:
        jobs: the table.
        site: pages that are made together.
    """
    from replication.report.sources import IndexSources

    records = Records.of(each.study for each in jobs.studies.values())
    costs = {name: cost_in_words(cost_of_study(jobs, name, records)) for name in jobs.studies}
    return IndexSources(site=site, costs=costs)


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
        n_seeds=study.number_of_seeds(name),
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
