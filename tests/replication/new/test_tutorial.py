"""The tutorial, docs/new_paper.md: its blocks make a study from what `new` makes."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from replication.new.command import write_repository

PLACES = {"markdown": "README.md", "python": "script.py"}
"""Files of the blocks of some languages; a block of YAML begins with its own."""
TABLE = "| command | result |"
"""First line of the table of the README, before which the block of Markdown stands."""


def blocks() -> list[tuple[str, str]]:
    """Language and text of every block."""
    text = (ROOT / "docs/new_paper.md").read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    return [line for language, text in blocks() if not language for line in text.splitlines()]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The repository after all that the tutorial writes."""
    folder = tmp_path_factory.mktemp("mypaper")
    write_repository(folder, "mypaper", torch=False)
    for language, text in blocks():
        if language == "diff":
            words = ["git", "apply", "-"]
            subprocess.run(words, cwd=folder, input=text, text=True, check=True)
        elif language:
            path = PLACES.get(language) or text.splitlines()[0].removeprefix("# ")
            made = (folder / path).read_text() if language == "markdown" else ""
            rest = made.partition(TABLE)[1:]
            (folder / path).write_text("".join((text, *rest)))
    return folder


def run(folder, *words):
    """What a program prints in the repository, as if this were installed."""
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{folder / 'src'}:{ROOT / 'src'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_script_is_short_and_runs(project):
    assert len((project / "script.py").read_text().splitlines()) <= 40
    assert "Momentum is better" in run(project, "script.py")


def test_the_study_can_be_planned_and_has_no_mark_left(project):
    words = ["-c", "from replication.study.studies import find_studies;"
             "from replication.verify.reference import refuse_marks;"
             "refuse_marks(find_studies()['mypaper'])"]  # fmt: skip
    run(project, *words)
    assert "figures/fig1.pdf" in run(project, "-m", "replication", "targets")


@pytest.mark.thorough
def test_its_commands_give_the_verdict_that_it_shows(project):
    shown = next(line for line in commands() if line.startswith("C1 "))
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    for command in commands():
        if command.startswith("snakemake"):
            printed = run(project, "-m", *command.split())
            if command == "snakemake verify":
                assert shown.split(maxsplit=1)[1] in printed
                assert "Equal to the reference" in printed
    for page in ("index", "mypaper"):
        assert (project / f"results/report/{page}.html").is_file()
    assert "2 passed" in run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
