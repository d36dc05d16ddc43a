"""A project whose results are compared with its references."""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from replication.base.errors import InputError
from replication.bundle.bundle import PAPER_SCALE, figure_path, reference_folder
from replication.bundle.computed import settings_digests
from replication.bundle.paper_scale import is_paper_scale, with_paper_scale
from replication.plan.configuration import Configuration, configure
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.study.studies import Study
from replication.verify.differences import ACROSS_PROCESSORS, OTHER_SEEDS, Tolerances


@dataclass(frozen=True)
class Project:
    """A project, its studies and the configuration of its results."""

    root: Path
    """Folder of the Snakefile and of the references."""
    studies: dict[str, Study]
    """All studies by name."""
    configuration: Configuration
    """Configuration of the results."""
    profile: Path | None = None
    """Folder of the Snakemake profile that says where jobs run; if none is given, this machine."""

    @cached_property
    def jobs(self) -> Jobs:
        """Table of jobs of the results."""
        return Jobs.of(self.configuration, self.studies, with_paper_scale(self.root))

    @cached_property
    def default(self) -> Jobs:
        """Table of jobs of the references."""
        return Jobs.of(configure({}, self.studies), self.studies)

    def is_default(self, study: str) -> bool:
        """Say whether the settings of a study are those of its reference."""
        return settings_digests(self.jobs, study) == settings_digests(self.default, study)

    def reference_folder(self, study: str) -> Path:
        """Return the folder of the reference that results belong to, the second at its scale."""
        folder, settings = reference_folder(self.root, study), self.configuration.section(study)
        is_second = is_paper_scale(self.studies[study], settings) and not self.is_default(study)
        return folder / PAPER_SCALE if is_second else folder

    def run_snakemake(
        self, configuration: Configuration, targets: Iterable[str], *options: str
    ) -> None:
        """Make targets with a configuration.

        Raises:
            InputError: if Snakemake fails; it has said why.
        """
        with self.new_folder() as folder:
            file = folder / "configuration.yaml"
            whole, default = configuration, self.default.configuration
            overlay = _overlay_with_removals(
                whole.model_dump(mode="json"), default.model_dump(mode="json")
            )
            # In the order of the settings: lists of names in tables have it, too.
            text = yaml.safe_dump(overlay, sort_keys=False)
            file.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "snakemake", *targets, "--quiet", "progress", *options]
            places = ["--snakefile", str(self.root / "Snakefile"), "--configfile", str(file)]
            profile = ["--workflow-profile", str(self.profile.resolve())] if self.profile else []
            if _wait_for_snakemake(subprocess.Popen([*command, *places, *profile])):
                raise InputError("computing the results failed, see above")

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Make a new folder that every computing machine can see, and remove it in the end.

        With a profile it stands below `results/` of the working folder, as the machines of a
        cluster do not share `/tmp`. It then has a link to the project's `profiles`: commands of a
        profile may name files there.
        """
        shared = Path("results").absolute() if self.profile else None
        if shared:
            try:
                shared.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{shared}: no folder can be made here ({error.strerror}); start where one can"
                ) from error
        # A job that was cancelled may still write.
        with tempfile.TemporaryDirectory(
            prefix="verify-", dir=shared, ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            if shared:
                (folder / "profiles").symlink_to((self.root / "profiles").absolute())
            yield folder


def _wait_for_snakemake(process: subprocess.Popen[bytes]) -> int:
    """Return the exit status of Snakemake.

    Ctrl-C reaches Snakemake, too, which then cancels its jobs. A second one ends it at once.

    Raises:
        KeyboardInterrupt: when Snakemake has ended after an interrupt.
    """
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.terminate()
        raise


def _overlay_with_removals(data: Any, default: Any) -> Any:
    """Return the overlay that gives the data when it is merged into the defaults.

    It has null for every key that only the defaults have.
    """
    if not (isinstance(data, dict) and isinstance(default, dict)):
        return data
    removed = {key: None for key in default if key not in data}
    return removed | {
        key: _overlay_with_removals(value, default.get(key)) for key, value in data.items()
    }


def names_of_counts(study: StudyJobs) -> set[str]:
    """Return the tables and claims of a study whose numbers are compared like counts."""
    names = set(study.registry.compared_as_counts)
    key = study.registry.text_key
    figures = (name for name, figure in study.figures.items() if key(name, figure.kind) in names)
    return {*(names & study.claims.keys()), *map(figure_path, figures)}


def tolerances_of_study(study: StudyJobs) -> Tolerances:
    """Return the tolerances between processors for all numbers of a study that are no counts."""
    return OTHER_SEEDS if study.registry.amplifies_rounding else ACROSS_PROCESSORS
