"""Snakemake as the controller of jobs on Slurm, and what became of the results."""

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

from conftest import ROOT, Project

from cluster.daemons import Slurm

FIGURE = "figures/fig6.pdf"
PROFILE = ("--workflow-profile", "profiles/slurm")
# Sooner than on a cluster that others use, too.
SOONER = (
    *("--slurm-init-seconds-before-status-checks", "2"),
    *("--latency-wait", "10"),
    "--slurm-keep-successful-logs",
)


def commands_of_the_document(study: str, overlay: str) -> list[str]:
    """The commands of docs/cluster.md from a clone to a judged study, on a processor.

    Args:
        study: takes the place of the study there.
        overlay: takes the place of the study's settings at the paper's scale.
    """
    text = (ROOT / "docs/cluster.md").read_text()
    block = text.split("```\n")[1]
    (there,) = set(re.findall(r"\S+/(\w+)/paper_scale\.yaml", block))
    block = re.sub(r"\S+/paper_scale\.yaml", overlay, block)
    return block.replace(there, study).replace("device: cuda", "device: cpu").splitlines()


@cache
def small_results() -> dict[str, bytes]:
    """All files of a small run of Figure 6 on this machine, without Slurm."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder)).one_seed_per_job()
        project.run(FIGURE)
        return project.files("results", "figures")


class ClusterProject(Project):
    """A project whose Snakemake knows the Slurm of the tests."""

    def __init__(self, project: Project, slurm: Slurm) -> None:
        self.folder = project.folder
        self.slurm = slurm
        python = str(Path(sys.executable).parent)
        path = f"{python}:{slurm.environment['PATH']}"
        self.environment = project.environment | slurm.environment | {"PATH": path}

    def submit(self, *arguments: str, quick: bool = True) -> "Run":
        """Start a run through `profiles/slurm`."""
        return Run(self, FIGURE, *PROFILE, *SOONER, *arguments, quick=quick)

    def program(self, *arguments: str) -> str:
        """What a program of the project prints."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        ).stdout

    def shell(self, command: str) -> str:
        """What a command prints that a user types in the project's folder."""
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def executions(self) -> Counter[str]:
        """How often Slurm has completed each piece of work."""
        jobs = self.slurm.jobs(self.folder)
        return Counter(job.work for job in jobs if job.state == "COMPLETED")


class Run:
    """A Snakemake that runs beside the test and writes what it says into a file."""

    def __init__(self, project: ClusterProject, *arguments: str, quick: bool) -> None:
        self.began = time.monotonic()
        self._output = project.folder / f"run-{time.monotonic_ns()}.txt"
        with self._output.open("w") as stream:
            self.process = subprocess.Popen(
                # A shell may have started the tests with SIGINT ignored.
                ["env", "--default-signal=INT", *project.command(*arguments, quick=quick)],
                cwd=project.folder,
                env=project.environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """What it has said so far."""
        return self._output.read_text()

    def succeed(self) -> str:
        """Wait for its end, which must be a good one."""
        assert self.process.wait() == 0, self.text
        return self.text

    def fail(self) -> str:
        """Wait for its end, which must be an error."""
        assert self.process.wait() != 0, self.text
        return self.text

    def stop(self, number: signal.Signals) -> None:
        """Send it a signal and wait for its end."""
        self.process.send_signal(number)
        self.process.wait()
