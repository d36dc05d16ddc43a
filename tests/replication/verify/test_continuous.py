"""What continuous re-verification shows, and the history that it keeps."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner, Result
from conftest import FIGURE, PRODUCT, ROOT, Template

from replication.base.errors import InputError
from replication.bundle.bundle import Bundle, find_references, write_bundle
from replication.bundle.computed import collect_evidence
from replication.judge.verdicts import Comparison, Verdict
from replication.verify import changed_numbers as changes
from replication.verify import changed_pictures as pictures
from replication.verify import history
from replication.verify.levels import _write_found_results

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


def told(before: dict[str, Bundle], after: dict[str, Bundle]) -> str:
    return changes.to_markdown(
        changes.changed_verdicts(before, after), changes.changed_numbers(before, after)
    )


def test_nothing_changes_between_a_reference_and_itself():
    assert changes.changed_verdicts(STUDIES, STUDIES).empty
    assert changes.changed_numbers(STUDIES, STUDIES).empty
    assert (
        "0 verdicts changed, 0 more have other numbers; 0 drawn numbers changed in 0 figures"
        in told(STUDIES, STUDIES)
    )


def test_changed_numbers_are_told_with_their_size():
    table = FIG1.copy()
    table.loc[3, "mean"] *= 1.01
    table.loc[7, "std"] += 1e-15
    numbers = changes.changed_numbers(STUDIES, with_tables(fig1=table))
    assert numbers["quantity"].str.split(" in ").str[0].tolist() == ["mean", "std"]
    assert numbers["relative"][0] == pytest.approx(0.01 / 1.01)
    text = told(STUDIES, with_tables(fig1=table))
    assert "2 drawn numbers changed in 1 figures" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| second | fig1 | 2 |")]
    assert "mean in row 4" in line
    assert line.endswith("| 0.0099 |")


@pytest.mark.parametrize(
    ("change", "quantity"),
    [
        (lambda table: table.head(5), "number of rows"),
        (lambda table: table.drop(columns="std"), "columns"),
        (lambda table: None, "table"),
    ],
)
def test_a_changed_form_comes_before_changed_numbers(change, quantity):
    after = with_tables(fig1=change(FIG1))
    assert changes.changed_numbers(STUDIES, after)["quantity"].tolist() == [quantity]
    assert f"| second | fig1 | 1 | {quantity} |" in told(STUDIES, after)


def test_changed_verdicts_are_told_with_both_sentences():
    moved = VERDICT.comparisons[0].model_copy(update={"estimate": -1.0})
    other = VERDICT.model_copy(
        update={
            "verdict": "does not hold",
            "summary": "no",
            "comparisons": [moved, *VERDICT.comparisons[1:]],
        }
    )
    after = with_verdicts(REFERENCE.verdicts | {"C1": other})
    (row,) = changes.changed_verdicts(STUDIES, after).to_dict("records")
    assert (row["study"], row["claim"]) == ("second", "C1")
    assert (row["before"], row["after"]) == ("replicated", "does not hold")
    assert row["change"] == pytest.approx(0.5)
    line = f"| second | C1 | replicated | **does not hold** | 0.5 | {SUMMARY} | no |"
    assert line in told(STUDIES, after)


def test_added_and_removed_claims_are_told():
    less = with_verdicts({"C2": REFERENCE.verdicts["C2"]})
    (removed,) = changes.changed_verdicts(STUDIES, less).to_dict("records")
    (added,) = changes.changed_verdicts(less, STUDIES).to_dict("records")
    assert (removed["claim"], removed["after"]) == ("C1", "none")
    assert (added["claim"], added["before"]) == ("C1", "none")


def test_equal_names_in_two_studies_are_told_apart():
    moved = Bundle(TABLES | {"figures/fig1.csv": FIG1.assign(std=0.5)}, {}, DEPENDS)
    after = {"first": moved, "second": moved}
    numbers, verdicts = (
        compared(STUDIES, after) for compared in (changes.changed_numbers, changes.changed_verdicts)
    )
    assert numbers.groupby(["study", "place"]).size().to_dict() == {
        ("first", "fig1"): 8,
        ("second", "fig1"): 8,
    }
    assert verdicts[["study", "claim"]].to_numpy().tolist() == [
        ["first", "C1"], ["first", "C2"], ["second", "C1"], ["second", "C2"],
    ]  # fmt: skip
    text = told(STUDIES, after)
    assert "16 drawn numbers changed in 2 figures" in text
    assert "| first | fig1 | 8 |" in text
    assert "| second | fig1 | 8 |" in text


def test_an_added_study_is_told():
    one = {"first": REFERENCE}
    assert set(changes.changed_verdicts(one, STUDIES)["study"]) == {"second"}
    assert changes.changed_numbers(one, STUDIES)["quantity"].tolist() == ["table", "table"]


def write_all(root: Path, studies: dict[str, Bundle]) -> None:
    for name, reference in studies.items():
        write_bundle(root / "results/reference" / name, reference)


def test_the_command_writes_both_files(tmp_path):
    write_all(tmp_path / "old", STUDIES)
    write_all(tmp_path / "new", with_tables(fig1=FIG1.head(3)))
    options = ["--before", tmp_path / "old", "--after", tmp_path / "new"]
    options += ["--markdown", tmp_path / "c.md", "--numbers", tmp_path / "n.csv"]
    done = CliRunner().invoke(changes.main, [str(option) for option in options])
    assert done.exit_code == 0, done.output
    assert "| second | fig1 | 1 | number of rows | 8 | 3 |" in (tmp_path / "c.md").read_text()
    numbers = pd.read_csv(tmp_path / "n.csv")
    assert numbers[["study", "place"]].to_numpy().tolist() == [["second", "fig1"]]


def found(folder: Path, studies: dict[str, Bundle]) -> Path:
    for name, results in studies.items():
        _write_found_results(folder / "found" / name, results)
    return folder / "found"


def record(found: Path, folder: Path, date: str, *, level: str = "full") -> Result:
    options = ["--found", found, "--folder", folder, "--date", date, "--commit", "abc"]
    return CliRunner().invoke(history.main, [*map(str, options), "--level", level])


def test_history_grows_by_one_set_of_rows_per_run(tmp_path):
    folder = tmp_path / "history"
    for date in ("2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"):
        done = record(found(tmp_path, {"first": REFERENCE}), folder, date)
        assert done.exit_code == 0, done.output
    verdicts = pd.read_csv(folder / "verdicts.csv")
    assert list(verdicts) == list(history.VERDICT_COLUMNS)
    assert verdicts["claim"].tolist() == ["C1", "C2"] * 2
    row = verdicts.iloc[-1]
    assert (row["lowest"], row["highest"]) == (-1.5, -1.0)
    assert row["processor"] == "x86, of a kind"
    assert row["packages"] == "numpy==2.0.0"
    runs = pd.read_csv(folder / "runs.csv", dtype={"digest": str})
    assert list(runs) == list(history.RUN_COLUMNS)
    assert not runs.duplicated(["date", "experiment", "run", "quantity"]).any()
    shown = ["run", "seed", "digest", "quantity", "value"]
    assert runs[runs["date"] == "2030-01-01T00:00:00Z"][shown].to_numpy().tolist() == [
        ["a", 1, "1" * 16, "loss", 0.25],
        ["b", 1, "2" * 16, "loss", 0.125],
    ]


def test_a_level_without_verdicts_appends_runs_only(tmp_path):
    tables = {"fingerprints.csv": RUNS}
    folder = found(tmp_path, {"first": Bundle(tables, {}, DEPENDS)})
    done = record(folder, tmp_path / "history", "2030-01-01T00:00:00Z", level="seed")
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "history").iterdir()] == ["runs.csv"]


def test_a_level_without_runs_appends_verdicts_only(tmp_path):
    folder = found(tmp_path, {"first": Bundle({}, REFERENCE.verdicts, DEPENDS)})
    done = record(folder, tmp_path / "history", "2030-01-01T00:00:00Z", level="hash")
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "history").iterdir()] == ["verdicts.csv"]


def test_a_run_is_recorded_once(tmp_path):
    folder = found(tmp_path, {"first": REFERENCE})
    assert record(folder, tmp_path, "2030-01-01T00:00:00Z").exit_code == 0
    before = (tmp_path / "verdicts.csv").read_bytes()
    again = record(folder, tmp_path, "2030-01-01T00:00:00Z")
    assert again.exit_code == 1
    assert "has the full run of first of 2030-01-01T00:00:00Z already" in again.output
    assert (tmp_path / "verdicts.csv").read_bytes() == before


def test_the_studies_of_one_moment_are_told_apart(tmp_path):
    """Each has its own numbers and its own way to tell runs apart."""
    other = RUNS.drop(columns="words").rename(columns={"loss": "norm"}).drop_duplicates("seed")
    second = Bundle(TABLES | {"fingerprints.csv": other}, REFERENCE.verdicts, DEPENDS)
    folder = found(tmp_path, {"first": REFERENCE, "second": second})
    done = record(folder, tmp_path, "2030-01-01T00:00:00Z")
    assert done.exit_code == 0, done.output
    verdicts, runs = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("verdicts", "runs"))
    assert verdicts.groupby("study").size().to_dict() == {"first": 2, "second": 2}
    assert runs.groupby(["study", "quantity"]).size().to_dict() == {
        ("first", "loss"): 2,
        ("second", "norm"): 1,
    }


def test_a_history_of_other_columns_is_refused(tmp_path):
    (tmp_path / "verdicts.csv").write_text("date,claim\n2030-01-01T00:00:00Z,T1\n")
    done = record(found(tmp_path, {"first": REFERENCE}), tmp_path, "2030-01-01T00:00:00Z")
    assert done.exit_code == 1
    assert "lacks the column(s) commit, study, level" in done.output


def test_found_results_edited_by_hand_are_refused(tmp_path):
    verdicts = found(tmp_path, {"first": REFERENCE}) / "first/verdicts.json"
    verdicts.write_text(verdicts.read_text().replace('"replicated"', '"verified"'))
    done = record(tmp_path / "found", tmp_path / "history", "2030-01-01T00:00:00Z")
    assert done.exit_code == 1
    assert "verdicts.json: was changed after it was found" in done.output
    assert not (tmp_path / "history").exists()


def git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-C", str(folder)]
    done = subprocess.run(["git", *options, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def test_the_script_keeps_the_history_on_a_branch(tmp_path):
    origin, clone = tmp_path / "origin.git", tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True)
    subprocess.run(["git", "init", "--quiet", clone], check=True)
    git(clone, "remote", "add", "origin", str(origin))
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "first")
    found(clone, STUDIES)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_TOKEN": "none",
    }
    tables = []
    for level in ("seed", "full"):
        script = ["bash", str(ROOT / ".github/record"), level, "found"]
        subprocess.run(script, cwd=clone, env=environment, check=True)
        tables.append(git(origin, "show", "verification-history:verdicts.csv"))
    assert git(origin, "log", "--format=%s", "verification-history").count("Level") == 2
    for shorter, longer in pairwise(tables):
        assert longer.startswith(shorter)
    rows = [tuple(line.split(",")[2:4]) for line in tables[-1].splitlines()[1:]]
    assert rows == [
        (study, level)
        for level in ("seed", "full")
        for study in STUDIES
        for _ in REFERENCE.verdicts
    ]


def checkout(root: Path, tables: dict[str, bytes], project: Template) -> Path:
    """A checkout of a project's code with a reference of just some tables."""
    folder = root / "results/reference/example"
    (folder / "figures").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    for name, content in tables.items():
        (folder / "figures" / f"{name}.csv").write_bytes(content)
    for name in PRODUCT:
        (root / name).symlink_to(project.folder / name)
    return root


@pytest.mark.thorough
@pytest.mark.usefixtures("warm_python")
def test_figures_are_drawn_side_by_side_without_computing(finished, tmp_path):
    study = Path(FIGURE).parent.name
    figures = (finished.folder / FIGURE).parent
    tables = {name: (figures / f"{name}.csv").read_bytes() for name in ("fig1", "fig2")}
    text = tables["fig1"].decode()
    before = checkout(tmp_path / "before", tables, finished)
    shorter = text[: text.rindex("\n", 0, -1) + 1].encode()
    after = checkout(tmp_path / "after", tables | {"fig1": shorter}, finished)
    output = tmp_path / "page"
    options = ["--before", before, "--after", after, "--output", output]
    done = CliRunner().invoke(pictures.main, list(map(str, options)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    page = (output / "index.html").read_text()
    assert re.findall(r"<h2 id=\"([\w/]+)\">[\w/]+: (changed|the same)", page) == [
        (f"{study}/fig1", "changed"),
        (f"{study}/fig2", "the same"),
    ]
    for source in re.findall(r'<img src="([^"]+)"', page):
        assert (output / source).read_bytes().startswith(b"\x89PNG")
    assert not list(output.rglob("*.npz"))


def test_a_figure_on_one_side_only_has_changed(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(b"a")
    assert pictures.Pair("a", picture, None).differs
    assert pictures.Pair("a", None, picture).differs
    assert not pictures.Pair("a", picture, picture).differs


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(InputError, match="has no reference"):
        pictures.draw_references(tmp_path, tmp_path / "out")


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
    assert weekly["history"]["needs"] == "full"
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
