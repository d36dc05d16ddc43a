"""Inputs, parameters and keys of the rules of the site, from the table of jobs.

Modules that load pandas are imported inside functions: a run that makes no page need not wait.
"""

import os
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from replication.base.stamp import files_beside, read_stamp
from replication.plan.collecting import Edited, collected_key
from replication.plan.cost import cost_in_words, cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.orders import DocumentFile
from replication.plan.stale_files import checksum_file
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records
from replication.study.registry import SCORECARD

PROGRAM = "replication.report.page"
INDEX_PROGRAM = "replication.report.index"
INDEX = "results/report/index.html"
"""Path of the page that lists all papers."""
WHOLE_SITE = {"report", "everything"}
"""Targets that make the index, and the page of each study."""


@dataclass(frozen=True)
class SiteRules:
    """The functions of the rules of the site; most take the name of a study."""

    jobs: Jobs
    """Table of jobs."""
    root: Path
    """The project's folder."""
    pages: list[str]
    """Names of the studies whose pages a target without a study makes."""
    targets: Callable[[], Iterable[str]]
    """Function that returns what the user asked for, once rules are asked for their inputs."""

    def configuration(self) -> DocumentFile:
        """Return the document with the configuration, from which programs plan again."""
        return DocumentFile(self.jobs.configuration.model_dump_json())

    # The page of a study.

    def page_files(self, study: str) -> list[str]:
        """Return the paths of pictures, tables and checksums of a page."""
        found = self.jobs.studies[study]
        tables = map(found.table, found.figures)
        checksums = (str(checksum_file(Path(found.table(name)))) for name in found.figures)
        return [*self._pictures(found), *tables, *checksums]

    def page_edited(self, study: str) -> Edited:
        """Return code and files of a page that may be edited while it is written."""
        from replication.report.explorer import explorer_programs

        return Edited.now([PROGRAM, *explorer_programs(study)], self.page_reads(study))

    def page_reads(self, study: str) -> list[str]:
        """Return the files of people that a page is made from.

        They are templates, texts, the registry, others' receipts, and the references that the page
        is shown with: that which receipts are checked against, and those of the paper's others.
        """
        from replication.report.explorer import explorer_files
        from replication.report.site import studies_of_paper
        from replication.verify.reproductions import receipt_files

        found = self.jobs.studies[study].study
        own = map(os.path.relpath, explorer_files(study))
        texts = [found.readme] if found.readme.is_file() else []
        paths = [
            *template_files(),
            *own,
            *map(os.path.relpath, [*texts, found.folder / "registry.yaml"]),
            *map(str, receipt_files(self.root, study)),
            *self._reference_files(each.name for each in studies_of_paper(study)),
        ]
        return [*dict.fromkeys(paths)]

    def page_key(self, study: str) -> str:
        """Return the key of a page. Links to other pages, and the commit, are not part of it."""
        found = self.jobs.studies[study]
        told = [each.model_dump_json() for each in (found.settings, found.own)]
        said = "\n".join([*told, self._cost(study)])
        return collected_key(self.jobs, self._page_made_from(study), self.page_edited(study), said)

    def is_page_current(self, study: str) -> bool:
        """Say whether a page and its folder are as they were made, by the present plan."""
        page = Path(self.jobs.studies[study].study.page)
        found = read_stamp(page.read_bytes(), page.suffix, files_beside(page))
        return found == self.page_key(study)

    def page_links(self, study: str) -> str:
        """Return the options with pages that are asked for or there already, and the index."""
        index = " --index index.html" if self._is_index_there else ""
        return _page_options([*dict.fromkeys([*self._pages_there, study])]) + index

    @cached_property
    def _pages_there(self) -> list[str]:
        """Studies whose pages are asked for or there, before this run makes one of them."""
        targets = {*self.targets()}
        asked = {*self.pages} if targets & WHOLE_SITE else set()
        return [
            name
            for name, study in self.jobs.studies.items()
            if {name, study.study.page} & (targets | asked) or os.path.exists(study.study.page)
        ]

    @cached_property
    def _is_index_there(self) -> bool:
        targets = {*self.targets()}
        return bool(targets & {*WHOLE_SITE, INDEX}) or os.path.exists(INDEX)

    def _page_made_from(self, study: str) -> list[str]:
        found = self.jobs.studies[study]
        tables = list(map(found.table, found.figures))
        return [*found.files.verdicts.values(), *map(_without_ending, tables), *tables]

    # The index.

    def index_verdicts(self) -> list[str]:
        """Return the paths of all verdicts of the studies with pages."""
        studies = (self.jobs.studies[name] for name in self.pages)
        return [path for study in studies for path in study.files.verdicts.values()]

    def index_pictures(self) -> list[str]:
        """Return the paths of the pictures of scorecards."""
        studies = (self.jobs.studies[name] for name in self.pages)
        return [path for study in studies for path in self._pictures(study, [SCORECARD])]

    def index_reads(self) -> list[str]:
        """Return the paths of templates, registries, and verdicts of references."""
        return [*template_files(), *self._reference_files(self.jobs.studies)]

    def index_edited(self) -> Edited:
        """Return code and files of the index that may be edited while it is written."""
        return Edited.now([INDEX_PROGRAM], self.index_reads())

    def index_key(self) -> str:
        """Return the key of the index."""
        said = "\n".join([*self.pages, *map(self._cost, self.jobs.studies)])
        return collected_key(self.jobs, self._index_made_from(), self.index_edited(), said)

    def is_index_current(self) -> bool:
        """Say whether the index is as it was made, by the present plan."""
        return read_stamp(Path(INDEX).read_bytes(), ".html") == self.index_key()

    def index_links(self) -> str:
        """Return the options with the pages that the index links to."""
        return _page_options(self.pages)

    def _index_made_from(self) -> list[str]:
        return [*self.index_verdicts(), *map(_without_ending, self.index_pictures())]

    def _cost(self, study: str) -> str:
        return cost_in_words(cost_of_study(self.jobs, study, self._records))

    @cached_property
    def _records(self) -> Records:
        return Records.of(each.study for each in self.jobs.studies.values())

    def _pictures(self, study: StudyJobs, names: Iterable[str] = ()) -> list[str]:
        return [
            f"{_without_ending(study.table(name))}.{figure.picture}"
            for name, figure in study.figures.items()
            if not names or name in names
        ]

    def _reference_files(self, studies: Iterable[str]) -> list[str]:
        """Return the paths of the registries of studies, and of the verdicts in references."""
        from replication.bundle.bundle import VERDICTS, reference_folder

        paths = [
            path
            for name in studies
            for path in (
                self.jobs.studies[name].study.folder / "registry.yaml",
                reference_folder(self.root, name) / VERDICTS,
            )
        ]
        return [os.path.relpath(path) for path in paths if path.is_file()]


def folder_of(paths: Iterable[Any], planned: Iterable[str]) -> str:
    """Return the folder in which a storage provider has put the planned files, or this one."""
    for path, name in zip(paths, planned, strict=True):
        return str(path).removesuffix(name) or "."
    return "."


def template_files() -> list[str]:
    """Return the templates of the page; digests of code follow Python's imports only."""
    folder = Path(os.path.relpath(Path(__file__).parent / "templates"))
    return sorted(map(str, folder.glob("*.*")))


def _page_options(names: Iterable[str]) -> str:
    return " ".join(f"--page {shlex.quote(name)}" for name in names)


def _without_ending(path: str) -> str:
    return path.rpartition(".")[0]
