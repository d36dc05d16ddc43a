"""Results that are compared with a reference: those that are here, or computed from nothing."""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml

from replication.base.errors import InputError
from replication.bundle.bundle import PAPER_SCALE, Bundle, reference_folder
from replication.bundle.computed import dependencies, read_computed, settings_digests
from replication.bundle.paper_scale import is_paper_scale, with_paper_scale
from replication.plan.configuration import Configuration, configure
from replication.plan.jobs import Jobs, refuse_other_settings
from replication.study.studies import Study

Level = Literal["hash", "seed", "full"]


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
        default = configure({}, self.studies)
        return self.jobs if self.configuration == default else Jobs.of(default, self.studies)

    def is_default(self, study: str) -> bool:
        """Say whether the settings of a study are those of its reference."""
        now, default = (settings_digests(jobs, study) for jobs in (self.jobs, self.default))
        return now == default

    def reference_folder(self, study: str) -> Path:
        """Return the folder of the reference that results belong to, the second at its scale."""
        folder, settings = reference_folder(self.root, study), self.configuration.section(study)
        is_second = is_paper_scale(self.studies[study], settings) and not self.is_default(study)
        return folder / PAPER_SCALE if is_second else folder

    def results(self, study: str, level: Level, draw: int) -> tuple[Bundle, dict[str, str]]:
        """Return the results at a level, and by path the reason why a file cannot be used.

        Levels above `hash` compute by the default settings in a new folder: all, or one seed of
        each experiment, drawn by a random number.
        """
        if level == "hash":
            refuse_other_settings(self.jobs, [study])
            return read_computed(self.jobs, study, Path())
        overlay, jobs = {}, self.jobs
        if level == "seed":
            overlay = jobs.studies[study].one_seed(random.Random(draw))
            jobs = Jobs.of(configure(overlay, self.studies), self.studies)
        files = jobs.studies[study].files
        # Single seeds decide no claim.
        targets = files.all if level == "full" else files.fingerprints.values()
        with self._new_folder() as folder:
            file = folder / "configuration.yaml"
            file.write_text(yaml.safe_dump(overlay, sort_keys=False), encoding="utf-8")
            command = [sys.executable, "-m", "snakemake", *targets, "--quiet", "progress"]
            places = {"snakefile": self.root / "Snakefile", "directory": folder, "configfile": file}
            if self.profile:
                places["workflow-profile"] = self.profile.resolve()
            for option, place in places.items():
                command += [f"--{option}", str(place)]
            run = subprocess.Popen(command)
            if _wait_for_snakemake(run):
                raise InputError("computing the results failed, see above")
            found, refused = read_computed(jobs, study, folder)
        return replace(found, depends=dependencies(self.jobs, study)), refused

    @contextmanager
    def _new_folder(self) -> Iterator[Path]:
        """Make a new folder that every computing machine can see, and remove it in the end.

        With a profile it stands below `results/` of the working folder, as the machines of a
        cluster do not share `/tmp`. It then has a link to the project's `profiles`: commands of a
        profile may name files there.
        """
        shared = Path("results").absolute() if self.profile else None
        if shared:
            shared.mkdir(exist_ok=True)
        # A job that was cancelled may still write.
        with tempfile.TemporaryDirectory(
            prefix="verify-", dir=shared, ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            if shared:
                (folder / "profiles").symlink_to((self.root / "profiles").absolute())
            yield folder


def _wait_for_snakemake(process: "subprocess.Popen[bytes]") -> int:
    """Return the exit status of Snakemake, which gets a Ctrl-C, too, and then cancels its jobs.

    A second Ctrl-C ends it at once.
    """
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.terminate()
        raise
