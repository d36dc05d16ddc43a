"""A study with the results that are kept of it: the source of every generated document."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from replication.base.markdown import Markdown
from replication.base.places import SOURCE
from replication.bundle.bundle import Bundle
from replication.judge.abstract import Link
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs


class StudyResults(NamedTuple):
    """One study and its results."""

    jobs: StudyJobs
    """Jobs of the study."""
    reference: Bundle | None
    """Results of the study, if they are kept."""

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.jobs.study.name

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Verdicts that are kept, by number of the claim."""
        return self.reference.verdicts if self.reference else {}

    @property
    def folder(self) -> Path:
        """Folder of the study, relative to that of the project."""
        return Path(SOURCE.name) / self.jobs.study.folder.relative_to(SOURCE)


def study_page(study: str, name: str) -> str:
    """Return the path of a generated page of a study, from the project's folder."""
    return f"docs/{study}/{name}.md"


def claim_links(document: str, study: str) -> Link:
    """Return a function that makes links to claims, of a study unless another one is named.

    `document` is the path of the file that has them, relative to the project's folder.
    """

    def link(claim: str, other: str | None) -> Markdown:
        page = study_page(other or study, "claims")
        path = "" if document == page else os.path.relpath(page, Path(document).parent)
        return Markdown(f"[{claim}]({path}#{claim})")

    return link
