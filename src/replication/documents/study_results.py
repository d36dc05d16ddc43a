"""A study with the results that are kept of it: the source of every generated document."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from replication.base.places import SOURCE
from replication.bundle.bundle import Bundle
from replication.judge.verdicts import Verdict
from replication.plan.study_jobs import StudyJobs


def study_page(study: str, name: str) -> str:
    """Return the path of a generated page of a study, from the project's folder."""
    return f"docs/{study}/{name}.md"


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
