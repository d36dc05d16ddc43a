"""Fixtures that several test files share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from replication.configuration import configure
from replication.study import find_studies

ROOT = Path(__file__).parents[1]
PRODUCT = ("Snakefile", "workflow", "profiles", "config", "src", "requirements.lock")
DEFAULTS = configure({}, find_studies())
FIGURE = "figures/example/fig1.pdf"
"""Of the template, which is small: what tests of the engine make."""


class Project:
    """A copy of the product in which a test may edit anything, and its Snakemake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        for name in PRODUCT:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)
        python_bin = str(Path(sys.executable).parent)
        self.environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "PATH": f"{python_bin}{os.pathsep}{os.environ['PATH']}",
        }

    def command(self, *arguments: str, quick: bool = True) -> list[str]:
        overlay = ["--configfile", "config/quick.yaml"] if quick else []
        return [sys.executable, "-m", "snakemake", *arguments, *overlay]

    def start(self, *arguments: str, quick: bool = True) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments, quick=quick),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, quick: bool = True, succeed: bool = True) -> str:
        """What Snakemake prints."""
        process = self.start(*arguments, quick=quick)
        output, _ = process.communicate()
        assert (process.returncode == 0) == succeed, output
        return output

    def verify(self, *arguments: str, succeed: bool = True) -> str:
        """What the verification prints."""
        done = subprocess.run(
            [sys.executable, "-m", "replication.verify", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) == succeed, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self, *arguments: str) -> dict[str, int]:
        """Rule name to number of jobs that a dry run plans."""
        return counted(self.run(*arguments, "--dry-run"))

    def add(self, overlay: str) -> None:
        """Add sections to the quick configuration."""
        with (self.folder / "config/quick.yaml").open("a") as stream:
            stream.write(overlay)

    def make_two_jobs(self, seeds: int = 15) -> None:
        """Give the template more seeds than it puts into one job; they count as the paper's."""
        config = "src/transformer_dynamics/example/config.yaml"
        self.edit(config, "{first: 1, count: 5}", f"{{first: 1, count: {seeds}}}")

    def one_seed_per_job(self) -> Self:
        """Give the quick configuration many jobs."""
        self.add("computation: {seeds_per_job: 1}\n")
        return self

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one occurrence of a text in a file."""
        file = self.folder / path
        text = file.read_bytes().decode()  # as text, foreign ends of lines would be lost
        assert text.count(old) == 1, f"{path} has {text.count(old)} times: {old}"
        file.write_bytes(text.replace(old, new).encode())

    def files(self, *folders: str) -> dict[str, bytes]:
        """Relative path to content of every file below some folders, but for hidden ones.

        A killed process can leave a hidden temporary file, which nothing reads.
        """
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for folder in folders
            for path in sorted((self.folder / folder).rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }


def counted(output: str) -> dict[str, int]:
    """Rule name to number of jobs in what a dry run prints."""
    if "Nothing to be done" in output:
        return {}
    table = output.split("Job stats:")[1].split("\n\n", maxsplit=1)[0].splitlines()[3:]
    counts = (line.split() for line in table)
    return {rule: int(count) for rule, count in counts if rule != "total"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The default configuration with one key set; dots separate keys."""
    data = DEFAULTS.model_dump(mode="json")
    *parents, last = path.split(".")
    section = data
    for key in parents:
        section = section[key]
    section[last] = value
    return data


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The template's first figure, of two jobs; a test that edits it must undo the edit."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.make_two_jobs()
    project.run(FIGURE)
    return project
