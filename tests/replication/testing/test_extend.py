"""The examples of docs/extend.md, as they stand, and the files that CONTRIBUTING.md names."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, Template

from replication.study.registry import read_registry

EXAMPLE = "src/transformer_dynamics/example"
CHECK = """
from pathlib import Path
from replication.study.studies import find_studies
from replication.testing.conformance import check_study
check_study(find_studies()["example"], Path("checked"), is_quick=True)
"""


def section(document: str, title: str) -> str:
    """The text below a heading, up to the next one."""
    text = (ROOT / document).read_text()
    found = re.search(rf"^##+ {title}.*?\n(.*?)(?=^##+ |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"{document} has no heading {title}"
    return found[1]


def blocks(text: str, kind: str) -> list[str]:
    """The blocks of code of one language; commands have none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for language, block in found if language == kind]


class Copy(Template):
    """A copy of the product that knows which files were edited."""

    def __init__(self, folder: Path, programs: Path) -> None:
        super().__init__(folder)
        snakemake = programs / "snakemake"
        snakemake.write_text(f'#!/bin/sh\nexec {self.pythons.python} -m snakemake "$@"\n')
        snakemake.chmod(0o755)
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"
        shutil.copy(ROOT / ".gitignore", folder)
        self.shell("git init --quiet && git add --all")

    def shell(self, command: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert not done.returncode, done.stdout + done.stderr
        return done.stdout

    def follow(self, title: str) -> set[str]:
        """Do what a section shows, and return the files that it edits."""
        text = section("docs/extend.md", title)
        for overlay in blocks(text, "yaml"):
            name = overlay.splitlines()[0].removeprefix("# ")
            (self.folder / name).write_text(overlay)
        for change in blocks(text, "diff"):
            self.shell("git apply --unidiff-zero -", change)
        for command in blocks(text, "")[0].splitlines():
            self.shell(command)
        edited = "git diff --name-only; git ls-files --others --exclude-standard"
        return set(self.shell(edited).split())


@pytest.fixture
def copy(finished, tmp_path, tmp_path_factory):
    """With all that the template makes, so that the examples make only what is new."""
    finished.copied(tmp_path)
    return Copy(tmp_path, tmp_path_factory.mktemp("programs"))


def test_the_files_behind_a_figure_are_there_and_few():
    text = section("CONTRIBUTING.md", "How fig6.pdf comes to be")
    listed = re.findall(r"^\d+\. `(.*?)`", text, re.MULTILINE)
    assert 0 < len(listed) <= 12
    assert all((ROOT / path).is_file() for path in listed)


@pytest.mark.thorough
def test_a_figure_of_an_existing_kind_is_one_file_and_a_claim_on_it_another(copy):
    assert copy.follow("A figure of an existing kind") == {"slow.yaml"}
    assert (copy.folder / "figures/example/slow.pdf").is_file()
    table = pd.read_csv(copy.folder / "figures/example/both.csv")
    assert {*table["experiment"]} == {"replication", "slow"}
    copy.shell("git add --all")
    assert copy.follow("A claim of your own") == {"mine.yaml"}
    verdict = json.loads((copy.folder / "results/example/verdicts/U1.json").read_text())
    assert (verdict["verdict"], verdict["seeds"]) == ("replicated", 10)


def test_a_new_figure_is_two_files_and_a_new_claim_one(copy):
    registry = f"{EXAMPLE}/registry.yaml"
    assert copy.follow("A new figure") == {registry, f"{EXAMPLE}/figures/fig3.py"}
    assert (copy.folder / "figures/example/fig3.pdf").is_file()
    assert "fig3" in read_registry(copy.folder / registry).figures
    copy.shell("git add --all")
    assert copy.follow("A new claim") == {registry}
    verdict = json.loads((copy.folder / "results/example/verdicts/C4.json").read_text())
    assert verdict["verdict"] == "replicated"
    copy.shell(f"python -c '{CHECK}'")


def test_a_new_metric_is_two_files(copy):
    edited = {f"{EXAMPLE}/study.py", f"{EXAMPLE}/metrics.py"}
    assert copy.follow("A new metric") == edited
    table = pd.read_parquet(copy.folder / "results/example/metrics/replication/distance.parquet")
    assert list(table) == ["seed", "update", "distance"]
    first = table[table["update"] == 0]["distance"]
    np.testing.assert_allclose(first, 2, err_msg="four directions of which nothing is learned")


def test_a_new_paper_is_its_folder(copy):
    edited = copy.follow("A new paper")
    assert {Path(name).parts[:3] for name in edited} == {("src", "transformer_dynamics", "mypaper")}
    assert (copy.folder / "figures/mypaper/fig1.pdf").is_file()
