"""What a pull request shows of changed references, and what is verified continuously."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from conftest import ROOT

from replication.bundle.bundle import Bundle, find_references, reference_folder, write_bundle
from replication.bundle.computed import collect_evidence
from replication.judge.verdicts import Comparison, Verdict
from replication.verify.levels import main

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SUMMARY = "1 of 1 hold; the value is -1"
VERDICT = Verdict(
    claim="C1",
    verdict="replicated",
    summary=SUMMARY,
    seeds=5,
    comparisons=[
        Comparison(cell="a", estimate=-1.5, decision="holds"),
        Comparison(cell="b", estimate=-1.0, decision="holds"),
    ],
)
FIG1 = pd.DataFrame({"level": range(8), "mean": np.linspace(1, 2, 8), "std": 0.25})
EVIDENCE = collect_evidence({"C1": pd.DataFrame({"cell": ["a"], "value": [1.0]})})
RUNS = pd.DataFrame(
    {
        "seed": [2, 1, 1, 2],
        "words": ["a", "a", "b", "b"],
        "digest": ["0" * 16, "1" * 16, "2" * 16, "3" * 16],
        "loss": [0.5, 0.25, 0.125, 1.0],
        "experiment": "e",
    }
)
TABLES = {
    "figures/fig1.csv": FIG1,
    "figures/fig2.csv": FIG1,
    "evidence.csv": EVIDENCE,
    "fingerprints.csv": RUNS,
}
DEPENDS = {
    "settings": {},
    "code": {},
    "machine": {"processor": "x86, of a kind", "python": "3.11.1", "numpy": "2.0.0"},
}
REFERENCE = Bundle(
    TABLES, {"C1": VERDICT, "C2": VERDICT.model_copy(update={"claim": "C2"})}, DEPENDS
)
STUDIES = {"first": REFERENCE, "second": REFERENCE}
"""Two studies whose figures and claims have the same names."""


def with_tables(**tables: pd.DataFrame | None) -> dict[str, Bundle]:
    """The references with other tables of the second study; None removes one."""
    merged = TABLES | {f"figures/{name}.csv": table for name, table in tables.items()}
    kept = {name: table for name, table in merged.items() if table is not None}
    return STUDIES | {"second": Bundle(kept, REFERENCE.verdicts, DEPENDS)}


def with_verdicts(verdicts: dict[str, Verdict]) -> dict[str, Bundle]:
    """The references with other verdicts of the second study."""
    return STUDIES | {"second": Bundle(TABLES, verdicts, DEPENDS)}


def git(folder: Path, *arguments: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-C", str(folder)]
    subprocess.run(["git", *options, *arguments], capture_output=True, check=True)


@pytest.fixture
def root(tmp_path) -> Path:
    """A project whose first commit has the references of both studies."""
    git(tmp_path, "init", "--quiet")
    keep(tmp_path, STUDIES)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    return tmp_path


def keep(root: Path, studies: dict[str, Bundle]) -> None:
    for name in STUDIES.keys() - studies.keys():
        shutil.rmtree(reference_folder(root, name))
    for name, reference in studies.items():
        write_bundle(reference_folder(root, name), reference)


def changes(root: Path, after: dict[str, Bundle], *options: str) -> tuple[list[str], pd.DataFrame]:
    """What the command prints of the present references, and what it writes."""
    keep(root, after)
    output = root / "changes.csv"
    arguments = ["--root", str(root), "--since", "HEAD", "--output", str(output), *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    *lines, last = done.output.splitlines()
    assert last == f"All changes since HEAD are in {output}"
    return lines, pd.read_csv(output)


def test_nothing_changes_between_a_reference_and_itself(root):
    (line,), table = changes(root, STUDIES)
    assert line == "0 verdicts changed, 0 more have other numbers; 0 values in 0 tables changed"
    assert table.empty


def test_changed_numbers_are_told_to_the_last_bit(root):
    table = FIG1.copy()
    table.loc[3, "mean"] *= 1.01
    table.loc[7, "std"] += 1e-15
    (first, line), written = changes(root, with_tables(fig1=table))
    assert "0 verdicts changed, 0 more have other numbers; 2 values in 1 tables" in first
    told = "second, figures/fig1.csv: 2 changed, the most mean in row 4 (3): was 1.4285714285714286"
    assert line.startswith(f"{told}, is 1.44285")
    assert written["quantity"].str.split(" in ").str[0].tolist() == ["mean", "std"]


def test_another_machine_hides_no_change(root):
    """It would, if both were compared as results of two machines are."""
    table = FIG1.assign(mean=FIG1["mean"] + 1e-9)
    after = with_tables(fig1=table)
    elsewhere = DEPENDS | {"machine": {"processor": "another"}}
    after["second"] = replace(after["second"], depends=elsewhere)
    assert len(changes(root, after)[1]) == len(FIG1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.head(5), "number of rows: was 8, is 5"),
        (lambda table: table.drop(columns="std"), "columns: was level, mean, std, is level, mean"),
    ],
)
def test_a_changed_form_of_a_table_is_told(root, change, told):
    (_, line), _ = changes(root, with_tables(fig1=change(FIG1)))
    assert line == f"second, figures/fig1.csv: 1 changed, the most {told}"


def test_added_and_removed_figures_are_told(root):
    (_, line), _ = changes(root, with_tables(fig1=None))
    assert line == "second, reference: 1 changed, the most figures/fig1.csv: was there, is missing"
    (_, line), _ = changes(root, with_tables(fig3=FIG1))
    assert line == "second, figures/fig3.csv: 1 changed, the most table: was none, is computed"


def test_changed_verdicts_are_told_with_both_sentences(root):
    """Those with another word come first."""
    other = VERDICT.model_copy(update={"verdict": "does not hold", "summary": "no"})
    moved = REFERENCE.verdicts["C1"].model_copy(update={"summary": "another number"})
    verdicts = {"C1": moved, "C2": other.model_copy(update={"claim": "C2"})}
    (first, *lines), _ = changes(root, with_verdicts(verdicts))
    assert "1 verdicts changed, 1 more have other numbers; 0 values" in first
    was = f"was replicated by 5 seeds ({SUMMARY})"
    assert lines == [
        f"second, verdict on C2: {was}, is does not hold by 5 seeds (no)",
        f"second, verdict on C1: {was}, is replicated by 5 seeds (another number)",
    ]


def test_added_and_removed_claims_are_told(root):
    verdicts = {"C2": REFERENCE.verdicts["C2"], "C3": VERDICT.model_copy(update={"claim": "C3"})}
    (first, *lines), _ = changes(root, with_verdicts(verdicts))
    assert "2 verdicts changed" in first
    assert lines == [
        f"second, verdict on C3: was none, is replicated by 5 seeds ({SUMMARY})",
        "second, verdict on C1: was there, is none",
    ]


def test_added_and_removed_studies_are_told(root):
    (_, *lines), _ = changes(root, {"first": REFERENCE, "third": REFERENCE})
    assert lines == [
        "second, reference: 1 changed, the most all of it: was there, is none",
        "third, reference: 1 changed, the most all of it: was none, is there",
    ]


def test_one_study_can_be_named(root):
    both = dict.fromkeys(STUDIES, with_tables(fig1=FIG1.head(3))["second"])
    assert {*changes(root, both, "--study", "first")[1]["study"]} == {"first"}
    done = CliRunner().invoke(main, ["--root", str(root), "--since", "HEAD", "--study", "firt"])
    assert done.output == "Error: --study: unknown study 'firt'; did you mean 'first'?\n"


def test_a_commit_that_git_does_not_know_is_refused(root):
    done = CliRunner().invoke(main, ["--root", str(root), "--since", "nothing"])
    assert done.exit_code == 1
    assert "git has no references of the commit nothing; name one that" in done.output


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_actions_and_run_what_exists(path):
    """Actions by full commit, no rights beyond reading by default, and no value of an event in a
    shell command."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step
            else:
                assert "${{" not in step["run"]
                for module in re.findall(r"-m (replication[\w.]*)", step["run"]):
                    place = ROOT / "src" / Path(*module.split("."))
                    assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()
                for script in re.findall(r"\.github/\w+|\.ci/run", step["run"]):
                    assert os.access(ROOT / script, os.X_OK)


def test_every_study_with_a_reference_is_re_verified(tmp_path):
    texts = {path.stem: path.read_text() for path in WORKFLOWS}
    assert ".github/verify hash $(ls results/reference)" in texts["pull_request"]
    assert ".github/verify seed" in texts["nightly"]
    weekly = yaml.safe_load(texts["weekly"])["jobs"]
    full = weekly["full"]
    assert full["continue-on-error"] == "${{ matrix.packages == 'newest' }}"
    assert full["strategy"]["matrix"] == {
        "study": "${{ fromJSON(needs.studies.outputs.names) }}",
        "packages": ["encoders", "newest"],
    }
    assert not full["strategy"]["fail-fast"]
    commands = [step.get("run") for step in full["steps"]]
    assert '.github/verify full "$STUDY"' in commands
    (kept,) = [step["with"] for step in full["steps"] if "upload-artifact" in step.get("uses", "")]
    assert "receipt.json" in kept["path"].split()
    (command,) = [step["run"] for step in weekly["studies"]["steps"] if "run" in step]
    output = tmp_path / "output"
    environment = os.environ | {"GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=True)
    names = json.loads(output.read_text().removeprefix("names="))
    assert names == find_references(ROOT)


def test_a_package_that_cannot_be_audited_fails_the_audit():
    """As it does not by itself: what the service does not know passes without --strict."""
    rule = (ROOT / "Makefile").read_text().split("\naudit:")[1].split("\n\n")[0]
    assert "pip-audit --strict" in rule
