"""As much of GitHub's runner as the workflows of this project need."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SUDO = """\
#!/bin/sh
# Installs nothing and becomes nobody else.
while [ "${1#-}" != "$1" ]; do shift; done
[ "$1" = apt-get ] || exec "$@"
"""
SHELL = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]


class Failed(AssertionError):
    """A command of a step that failed; says where, and what the command said."""


class Job(NamedTuple):
    """One job of a workflow, for one choice of its matrix."""

    where: str
    """Workflow, job and choice, to read."""
    steps: list[dict[str, Any]]
    """Those that run commands, with expressions replaced."""
    environment: dict[str, str]
    """Of all steps."""


class Runner:
    """Runs the commands of workflows in a checkout."""

    def __init__(self, checkout: Path, temporary: Path, environment: dict[str, str]) -> None:
        """Prepare what steps write to.

        Args:
            checkout: where they run.
            temporary: an empty folder beside it.
            environment: variables, with `PATH`.
        """
        self.checkout, self.temporary = checkout, temporary
        self.programs = temporary / "programs"
        self.programs.mkdir(parents=True)
        self.add_program("sudo", SUDO)
        self.environment = environment | {
            "PATH": f"{self.programs}{os.pathsep}{environment['PATH']}",
            "RUNNER_TEMP": str(temporary / "runner"),
            "TMPDIR": str(temporary / "tmp"),
        }
        for name in ("RUNNER_TEMP", "TMPDIR"):
            Path(self.environment[name]).mkdir()

    def add_program(self, name: str, text: str) -> None:
        """Have a program found before any other of its name."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def jobs(self, workflow: str, text: str) -> Iterator[Job]:
        """Every job of a workflow for every choice of its matrix.

        A job whose outputs others need runs when they are asked for.
        """
        content = yaml.safe_load(text)
        known: dict[str, Any] = {"github.token": "none"}
        for name, job in content["jobs"].items():
            matrix = job.get("strategy", {}).get("matrix", {})
            choices = [_evaluated(values, known) for values in matrix.values()]
            for choice in product(*choices):
                chosen = {f"matrix.{key}": one for key, one in zip(matrix, choice, strict=True)}
                variables = content.get("env", {}) | job.get("env", {})
                made = Job(
                    " ".join([workflow, name, *map(str, choice)]),
                    [
                        step | {"env": _all_evaluated(step.get("env", {}), known | chosen)}
                        for step in job["steps"]
                        if "run" in step
                    ],
                    _all_evaluated(variables, known | chosen),
                )
                yield made
                if "outputs" in job:
                    found = self.run(made)
                    for output, value in job["outputs"].items():
                        known[f"needs.{name}.outputs.{output}"] = _evaluated(value, found)

    def run(self, job: Job, *, is_strict: bool = True) -> dict[str, str]:
        """Run the steps of a job; what they put out.

        Raises:
            Failed: if one fails, unless that does not matter.
        """
        outputs: dict[str, str] = {}
        environment = self.environment | job.environment
        for step in job.steps:
            files = {
                name: self.temporary / name
                for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
            }
            for file in files.values():
                file.write_text("")
            done = subprocess.run(
                [*SHELL, "-c", step["run"]],
                cwd=self.checkout,
                env=environment | step["env"] | {name: str(path) for name, path in files.items()},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if is_strict and done.returncode:
                raise Failed(f"{job.where}: {step['run']}\n{done.stdout[-5000:]}")
            for line in files["GITHUB_OUTPUT"].read_text().splitlines():
                name, _, value = line.partition("=")
                outputs[f"steps.{step['id']}.outputs.{name}"] = value
            for folder in files["GITHUB_PATH"].read_text().splitlines():
                environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
        return outputs


def _evaluated(value: Any, known: dict[str, Any]) -> Any:
    """A value of a workflow; one that is an expression is replaced."""
    found = re.fullmatch(r"\$\{\{ (.*) \}\}", value) if isinstance(value, str) else None
    if not found:
        return value
    inner = re.fullmatch(r"fromJSON\((.*)\)", found[1])
    return json.loads(known[inner[1]]) if inner else known[found[1]]


def _all_evaluated(values: dict[str, Any], known: dict[str, Any]) -> dict[str, str]:
    return {name: str(_evaluated(value, known)) for name, value in values.items()}
