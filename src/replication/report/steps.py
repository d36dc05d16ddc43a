"""The steps of the site: the page of each study, and the index of all papers.

Modules that load pandas are imported inside functions: a run that makes no page need not wait.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from replication.base.keys import digest
from replication.base.project import commit_name
from replication.base.storage import checksum_file
from replication.plan.costs import Costs
from replication.plan.jobs import Jobs
from replication.plan.rules import INDEX
from replication.plan.steps import Input, Role, Step, texts

WHOLE_SITE = {"report", "everything"}
"""Targets that make the index, and the page of each study."""


@dataclass(frozen=True)
class SiteSteps:
    """Maker of the steps of the site."""

    jobs: Jobs
    """Table of jobs."""
    root: Path
    """The project's folder."""
    pages: list[str]
    """Names of the studies whose pages a target without a study makes."""
    targets: Callable[[], Iterable[str]]
    """Function that returns what the user asked for, once rules are asked for their inputs."""

    def add(self, path: str) -> None:
        """Add the step of a page, or of the index, to the table, if the path is that of one."""
        if path in self.jobs.steps or not path.startswith("results/report/"):
            return
        study = Path(path).stem
        self.jobs.steps[path] = self._index() if path == INDEX else self._page(study)

    def _page(self, study: str) -> Step:
        """Return the step of a page.

        It is made from verdicts, pictures and tables, templates, texts, the registry, others'
        receipts, and the references that the page is shown with: that which receipts are checked
        against, and those of the paper's other studies.
        """
        from replication.report.explorer import explorer_files, explorer_programs
        from replication.report.site import studies_beside
        from replication.report.views import picture_path
        from replication.verify.receipts import receipt_files

        found = self.jobs.studies[study]
        files = [
            *explorer_files(study),
            found.study.readme,
            found.study.folder / "registry.yaml",
            *receipt_files(self.root, study),
        ]
        tables = [found.table(name) for name in found.figures]
        inputs = [
            *_inputs(found.files.verdicts.values(), "verdict"),
            *_inputs((picture_path(found, name) for name in found.figures), "figure"),
            *_inputs(tables, "table"),
            *_inputs(map(checksum_file, tables), "checksum"),
            *self._texts(files, studies_beside(study)),
        ]
        page = found.study.page
        facts = {
            "study": study,
            "pages": [*dict.fromkeys([*self._pages_there, study])],
            "index": "index.html" if self._is_index_there else "",
        }
        shown = [each.model_dump(mode="json") for each in (found.settings, found.registry)]
        settings = [*shown, facts | {"cost": self._costs.in_words(study)}]
        outputs, programs = (page, page.removesuffix(".html")), explorer_programs(study)
        return self._step("page", "page", outputs, settings, inputs, facts, programs)

    def _index(self) -> Step:
        """Return the step of the index, which is made from all verdicts."""
        studies = [self.jobs.studies[name] for name in self.pages]
        verdicts = (path for each in studies for path in each.files.verdicts.values())
        inputs = [*_inputs(verdicts, "verdict"), *self._texts([], self.jobs.studies)]
        costs = [self._costs.in_words(name) for name in self.jobs.studies]
        facts = {"pages": self.pages}
        return self._step("index", "site", (INDEX,), [self.pages, costs], inputs, facts)

    def _step(
        self, stage: Any, module: str, outputs: tuple[str, ...], settings: list[Any],
        inputs: list[Input], facts: dict[str, Any], programs: Iterable[str] = (),
    ) -> Step:  # fmt: skip
        configuration = self.jobs.configuration
        more = {
            "root": str(self.root),
            "configuration": configuration.model_dump(mode="json"),
            "digest": configuration.digest,
            "commit": commit_name(self.root),
            "first": inputs[0].path,
        }
        return Step(
            outputs, stage, f"replication.report.{module}", f"write_{stage}_of_run", settings,
            digest(settings), inputs=tuple(inputs), besides=tuple(programs), facts=facts | more,
        )  # fmt: skip

    def _texts(self, files: Iterable[Path], studies: Iterable[str]) -> tuple[Input, ...]:
        """Return files that people edit, with templates, registries and verdicts of references."""
        from replication.bundle.bundle import VERDICTS, reference_folder

        # Digests of code follow Python's imports only.
        found = [*sorted((Path(__file__).parent / "templates").glob("*.*")), *files]
        for name in studies:
            found.append(self.jobs.studies[name].study.folder / "registry.yaml")
            found.append(reference_folder(self.root, name) / VERDICTS)
        return texts(dict.fromkeys(os.path.relpath(path) for path in found if path.is_file()))

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
        return bool({*self.targets()} & {*WHOLE_SITE, INDEX}) or os.path.exists(INDEX)

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self.jobs)


def _inputs(paths: Iterable[str], role: Role) -> list[Input]:
    return [Input(path, role) for path in paths]
