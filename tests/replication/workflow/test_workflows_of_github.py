"""Every workflow of GitHub has in its environment what its commands need."""

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from conftest import JOBS, ROOT
from runner import Runner

from replication.__main__ import COMMANDS
from replication.base.code_digest import reach
from replication.bundle.bundle import find_references

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RECORDER = """\
#!/bin/sh
{ printf '%s\\037' "$PATH" "${0##*/}" "$@"; printf '\\036'; } >> "$RECORD"
"""
"""Stands in for a program: writes what it is called with, and does nothing."""
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
"""The environment without what `make test` tells a `make` within it."""
PLAIN = [name for name, parts in JOBS.studies.items() if parts.study.is_default]


class Call(NamedTuple):
    """One program that a step starts."""

    where: str
    """Workflow, job and choice of its matrix."""
    path: list[str]
    """Where programs are looked for."""
    words: list[str]
    """Its name, and what it is given."""


@cache
def pins(lock: str) -> frozenset[str]:
    lines = (ROOT / lock).read_text().splitlines()
    return frozenset(line.split("==")[0] for line in lines if "==" in line)


@cache
def recipe(*arguments: str) -> str:
    """What `make` would run where nothing is installed yet."""
    done = subprocess.run(
        ["make", "--dry-run", "VENV=.absent", "PYTHON=python3", *arguments],
        cwd=ROOT, env=OUTSIDE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def locks(*arguments: str) -> list[str]:
    """The locks that a target of `make` installs into the environment."""
    installs = re.findall(r"(?:pip install|environment\.py) .*", recipe(*arguments))
    return [lock for text in installs for lock in re.findall(r"requirements[\w-]*\.lock", text)]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """One whose programs are written down, in a checkout without an environment."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for path in ROOT.iterdir():
        if path.name not in {".git", ".venv"}:
            (checkout / path.name).symlink_to(path)
    environment = OUTSIDE | {"RECORD": str(tmp_path / "record")}
    runner = Runner(checkout, tmp_path / "runner", environment)
    for name in ("make", "python", "git", "apt-get"):
        runner.add_program(name, RECORDER)
    return runner


def calls(runner: Runner, workflow: str, text: str) -> Iterator[Call]:
    record = Path(runner.environment["RECORD"])
    for job in runner.jobs(workflow, text):
        record.write_text("")
        # What a command would have made is missing for the next one.
        runner.run(job, is_strict=False)
        for line in record.read_text().split("\036")[:-1]:
            path, *words = line.split("\037")[:-1]
            yield Call(job.where, path.split(os.pathsep), words)


def needs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Who needs which package, of a call of Python."""
    module, command = words[words.index("-m") + 1 :][:2]
    program = COMMANDS[command] if module == "replication" else module
    yield from ((program, package) for package in reach(program).packages)
    if command == "verify" and "--level" in words:
        named = [word.removeprefix("--study=") for word in words if word.startswith("--study=")]
        for study in named or PLAIN:
            yield from of_study(study, words[words.index("--level") + 1])
    if command == "report":
        for study in find_references(ROOT):
            yield from drawing(study)


@cache
def of_study(study: str, level: str) -> list[tuple[str, str]]:
    """What a level computes; those that compute nothing compare the versions of all packages."""
    files = JOBS.studies[study].files
    paths = files.fingerprints.values() if level == "seed" else files.all
    programs = {task.program for _, task in JOBS.closure(paths)}
    return [(study, package) for program in programs for package in reach(program).packages]


@cache
def drawing(study: str) -> list[tuple[str, str]]:
    figures = JOBS.studies[study].figures
    programs = {JOBS.steps[JOBS.studies[study].table(name)].program for name in figures}
    return [(study, package) for program in programs for package in reach(program).packages]


def lacking(runner: Runner, workflow: str, text: str) -> set[str]:
    """In a sentence each, what the commands of a workflow need and its jobs do not install."""
    found: set[str] = set()
    unseen = set(re.findall(r"-m (replication[\w.]*)", text))
    installed: dict[str, set[str]] = {}
    for where, path, words in calls(runner, workflow, text):
        have = installed.setdefault(where, set())
        if words[0] == "make":
            arguments = words[1:]
            have.update(*map(pins, locks(*arguments)))
            programs = set(recipe(*arguments).split()) & pins("requirements-dev.lock")
            wanted = [(f"make {' '.join(arguments)}", program) for program in programs]
        elif words[0] == "python":
            if str(runner.checkout / ".venv/bin") not in path:
                found.add(f"{where}: the environment is not on PATH of {' '.join(words)}")
            unseen -= {*words}
            wanted = list(needs(words))
        else:
            continue
        found |= {f"{where}: {who} needs {name}" for who, name in wanted if name not in have}
    assert not unseen, f"no job has reached {unseen}"
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_installs_what_its_commands_need(runner, path):
    """By the table of jobs and the imports of its programs; nothing is installed."""
    assert lacking(runner, path.stem, path.read_text()) == set()


def test_a_workflow_without_what_studies_of_encoders_need_is_found(runner):
    """As `weekly.yml` once was."""
    text = (ROOT / ".github/workflows/weekly.yml").read_text()
    before = text.replace("packages: [encoders, newest]", "packages: [environment, newest]")
    assert before != text
    found = lacking(runner, "weekly", before)
    assert {line.split()[2] for line in found} == set(of_encoders())
    for study in of_encoders():
        for package in ("tokenizers", "transformers"):
            assert f"weekly full {study} environment: {study} needs {package}" in found


def test_a_workflow_that_forgets_its_environment_is_found(runner):
    text = (ROOT / ".github/workflows/nightly.yml").read_text()
    found = lacking(runner, "nightly", text.replace('"$GITHUB_PATH"', "/dev/null"))
    assert any(
        "nightly seed: the environment is not on PATH of python -m" in line for line in found
    )


def of_encoders() -> list[str]:
    return [
        study
        for study in JOBS.studies
        if not {package for _, package in of_study(study, "full")} <= pins("requirements.lock")
    ]


def test_the_readme_names_every_study_that_needs_more_packages():
    (named,) = re.findall(r"; (.*) need `make encoders`", (ROOT / "README.md").read_text())
    assert sorted(re.findall(r"`(\w+)`", named)) == sorted(of_encoders())


def test_no_token_that_writes_meets_a_package():
    """Such a job installs nothing."""
    jobs = {
        f"{path.stem} {name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }
    writing = {
        name: [step["run"] for step in job["steps"] if "run" in step]
        for name, job in jobs.items()
        if "write" in job.get("permissions", {}).values()
    }
    assert set(writing) == {"pages publish", "release publish"}
    for commands in writing.values():
        for command in commands:
            assert command.startswith("gh release create ")
