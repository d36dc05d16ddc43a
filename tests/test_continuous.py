"""What continuous re-verification shows, and the history that it keeps."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner, Result

from transformer_dynamics.continuous import changes, history, pictures
from transformer_dynamics.errors import InputError
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.verification.lock import Lock, read_lock, write_lock
from transformer_dynamics.verify import _write_found

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference"
TEXT_REFERENCE = ROOT / "results/reference_wikitext"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def lock() -> Lock:
    return read_lock(REFERENCE)[0]


def with_tables(lock: Lock, **tables: pd.DataFrame | None) -> Lock:
    """A lock with other tables of figures; None removes one."""
    named = {f"figures/{name}.csv": table for name, table in tables.items()}
    merged = lock.tables | named
    kept = {name: table for name, table in merged.items() if table is not None}
    return Lock(kept, lock.verdicts, lock.depends)


def test_nothing_changes_between_a_lock_and_itself(lock):
    assert changes.changed_verdicts(lock, lock).empty
    numbers = changes.changed_numbers(lock, lock)
    assert numbers.empty
    assert (
        "0 verdicts changed, 0 more have other numbers; 0 drawn numbers changed in 0 figures"
        in (changes.to_markdown(changes.changed_verdicts(lock, lock), numbers))
    )


def test_changed_numbers_are_told_with_their_size(lock):
    table = lock.tables["figures/fig6.csv"].copy()
    table.loc[3, "entropy_mean"] *= 1.01
    table.loc[7, "entropy_std"] += 1e-15
    numbers = changes.changed_numbers(lock, with_tables(lock, fig6=table))
    assert numbers["quantity"].str.split(" in ").str[0].tolist() == ["entropy_mean", "entropy_std"]
    assert numbers["relative"][0] == pytest.approx(0.01 / 1.01)
    text = changes.to_markdown(changes.changed_verdicts(lock, lock), numbers)
    assert "2 drawn numbers changed in 1 figures" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| fig6 | 2 |")]
    assert "entropy_mean in row 4" in line
    assert line.endswith("| 0.0099 |")


@pytest.mark.parametrize(
    ("change", "quantity"),
    [
        (lambda table: table.head(5), "number of rows"),
        (lambda table: table.drop(columns="entropy_std"), "columns"),
        (lambda table: None, "table"),
    ],
)
def test_a_changed_form_comes_before_changed_numbers(lock, change, quantity):
    table = lock.tables["figures/fig6.csv"]
    numbers = changes.changed_numbers(lock, with_tables(lock, fig6=change(table)))
    assert numbers["quantity"].tolist() == [quantity]
    assert f"| fig6 | 1 | {quantity} |" in changes.to_markdown(
        changes.changed_verdicts(lock, lock), numbers
    )


def test_changed_verdicts_are_told_with_both_sentences(lock):
    verdict = lock.verdicts["T22a"]
    moved = verdict.comparisons[0].model_copy(
        update={"estimate": verdict.comparisons[0].estimate + 0.5}
    )
    other = verdict.model_copy(
        update={
            "verdict": "contradicted",
            "summary": "no",
            "comparisons": [moved, *verdict.comparisons[1:]],
        }
    )
    after = Lock(lock.tables, lock.verdicts | {"T22a": other}, lock.depends)
    (row,) = changes.changed_verdicts(lock, after).to_dict("records")
    assert (row["before"], row["after"]) == (verdict.verdict, "contradicted")
    assert row["change"] == pytest.approx(0.5)
    text = changes.to_markdown(
        changes.changed_verdicts(lock, after), changes.changed_numbers(lock, after)
    )
    assert f"| T22a | {verdict.verdict} | **contradicted** | 0.5 | {verdict.summary} | no |" in text


def test_added_and_removed_claims_are_told(lock):
    fewer = {claim: verdict for claim, verdict in lock.verdicts.items() if claim != "T1"}
    less = Lock(lock.tables, fewer, lock.depends)
    (removed,) = changes.changed_verdicts(lock, less).to_dict("records")
    (added,) = changes.changed_verdicts(less, lock).to_dict("records")
    assert (removed["claim"], removed["after"]) == ("T1", "none")
    assert (added["claim"], added["before"]) == ("T1", "none")


def test_the_command_writes_both_files(lock, tmp_path):
    table = lock.tables["figures/fig1.csv"]
    write_lock(tmp_path / "results/reference", with_tables(lock, fig1=table.head(3)))
    options = ["--before", ROOT, "--after", tmp_path]
    options += ["--markdown", tmp_path / "c.md", "--numbers", tmp_path / "n.csv"]
    done = CliRunner().invoke(changes.main, [str(option) for option in options])
    assert done.exit_code == 0, done.output
    assert "| fig1 | 1 | number of rows | 60 | 3 |" in (tmp_path / "c.md").read_text()
    assert "fig1" in pd.read_csv(tmp_path / "n.csv")["place"].tolist()


def found(folder: Path, lock: Lock) -> Path:
    _write_found(folder / "found", lock)
    return folder / "found"


def record(
    found: Path, folder: Path, date: str, *, level: str = "full", part: str = "synthetic"
) -> Result:
    options = ["--found", found, "--folder", folder, "--date", date, "--commit", "abc"]
    options += ["--part", part, "--level", level]
    return CliRunner().invoke(history.main, [str(option) for option in options])


def test_history_grows_by_one_set_of_rows_per_run(lock, tmp_path):
    folder = tmp_path / "history"
    for date in ("2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"):
        done = record(REFERENCE, folder, date)
        assert done.exit_code == 0, done.output
    verdicts = pd.read_csv(folder / "verdicts.csv")
    assert list(verdicts) == list(history.VERDICTS)
    assert len(verdicts) == 2 * len(lock.verdicts)
    assert verdicts["claim"].nunique() == len(lock.verdicts)
    row = verdicts[verdicts["claim"] == "T22a"].iloc[-1]
    estimates = [item.estimate for item in lock.verdicts["T22a"].comparisons]
    assert (row["lowest"], row["highest"]) == (min(estimates), max(estimates))
    assert row["processor"] == lock.depends["machine"]["processor"]
    assert f"numpy=={lock.depends['machine']['numpy']}" in row["packages"].split()
    runs = pd.read_csv(folder / "runs.csv", dtype={"digest": str})
    assert list(runs) == list(history.RUNS)
    assert not runs.duplicated(["date", "experiment", "mixture"]).any()
    known = lock.tables["fingerprints.csv"].merge(
        runs[["experiment", "mixture", "seed", "digest"]].drop_duplicates()
    )
    assert len(known) == len(runs) / 2


def test_a_level_without_verdicts_appends_runs_only(lock, tmp_path):
    tables = {"fingerprints.csv": lock.tables["fingerprints.csv"].head(3)}
    folder = found(tmp_path, Lock(tables, {}, lock.depends))
    done = record(folder, tmp_path / "history", "2030-01-01T00:00:00Z", level="seed")
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "history").iterdir()] == ["runs.csv"]


def test_a_run_is_recorded_once(tmp_path):
    assert record(REFERENCE, tmp_path, "2030-01-01T00:00:00Z").exit_code == 0
    before = (tmp_path / "verdicts.csv").read_bytes()
    again = record(REFERENCE, tmp_path, "2030-01-01T00:00:00Z")
    assert again.exit_code == 1
    assert "has the full run of synthetic of 2030-01-01T00:00:00Z already" in again.output
    assert (tmp_path / "verdicts.csv").read_bytes() == before


def test_the_parts_of_one_moment_are_told_apart(tmp_path):
    folders = {"synthetic": REFERENCE, "wikitext": TEXT_REFERENCE}
    for part, folder in folders.items():
        done = record(folder, tmp_path, "2030-01-01T00:00:00Z", part=part)
        assert done.exit_code == 0, done.output
    for name in ("verdicts", "runs"):
        assert set(pd.read_csv(tmp_path / f"{name}.csv")["part"]) == folders.keys()
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs["loss"].notna().all()
    measured = runs.groupby("part")[["attention", "entropy"]].count().gt(0)
    assert measured.loc["synthetic"].tolist() == [True, False]
    assert measured.loc["wikitext"].tolist() == [False, True]


def test_a_history_of_other_columns_is_refused(tmp_path):
    (tmp_path / "verdicts.csv").write_text("date,claim\n2030-01-01T00:00:00Z,T1\n")
    done = record(REFERENCE, tmp_path, "2030-01-01T00:00:00Z")
    assert done.exit_code == 1
    assert "lacks the column(s) commit, part, level" in done.output


def test_found_results_edited_by_hand_are_refused(tmp_path):
    shutil.copytree(REFERENCE, tmp_path / "found")
    verdicts = tmp_path / "found/verdicts.json"
    verdicts.write_text(verdicts.read_text().replace('"contradicted"', '"verified"'))
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
    shutil.copytree(REFERENCE, clone / "found/synthetic")
    shutil.copytree(TEXT_REFERENCE, clone / "found/wikitext")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_TOKEN": "none",
    }
    tables = []
    for arguments in (["seed"], ["full"], ["full", "wikitext"]):
        script = ["bash", str(ROOT / ".github/record"), *arguments]
        subprocess.run(script, cwd=clone, env=environment, check=True)
        tables.append(git(origin, "show", "verification-history:verdicts.csv"))
    assert git(origin, "log", "--format=%s", "verification-history").count("Level") == 3
    for shorter, longer in pairwise(tables):
        assert longer.startswith(shorter)
    rows = Counter(tuple(line.split(",")[2:4]) for line in tables[-1].splitlines()[1:])
    synthetic, text = (len(read_lock(folder)[0].verdicts) for folder in (REFERENCE, TEXT_REFERENCE))
    assert rows == {
        ("synthetic", "seed"): synthetic,
        ("synthetic", "full"): synthetic,
        ("wikitext", "full"): text,
    }


def test_locked_figures_are_drawn_side_by_side_without_computing(lock, tmp_path):
    table = lock.tables["figures/fig1.csv"].copy()
    column = table.select_dtypes("float").columns[0]
    table[column] *= 1.5
    for side, content in (("before", lock.tables["figures/fig1.csv"]), ("after", table)):
        root = tmp_path / side
        (root / "results/reference/figures").mkdir(parents=True)
        for name in ("Snakefile", "workflow", "config", "papers", "src", "requirements.lock"):
            (root / name).symlink_to(ROOT / name)
        content.to_csv(root / "results/reference/figures" / "fig1.csv", index=False)
        lock.tables["figures/fig8.csv"].to_csv(
            root / "results/reference/figures" / "fig8.csv", index=False
        )
    options = ["--before", tmp_path / "before", "--after", tmp_path / "after"]
    output = tmp_path / "page"
    done = CliRunner().invoke(
        pictures.main, [*map(str, options), "--output", str(output)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    page = (output / "index.html").read_text()
    assert re.findall(r"<h2 id=\"(\w+)\">\w+: (changed|the same)", page) == [
        ("fig1", "changed"),
        ("fig8", "the same"),
    ]
    for source in re.findall(r'<img src="([^"]+)"', page):
        assert (output / source).read_bytes().startswith(b"\x89PNG")
    assert not list(output.rglob("*.npz"))


def test_a_figure_on_one_side_only_is_shown_as_such(tmp_path):
    for name in ("old.png", "new.png"):
        (tmp_path / name).write_bytes(name.encode())
    listed = pictures.pairs({"a": tmp_path / "old.png"}, {"b": tmp_path / "new.png"}, tmp_path)
    assert listed == [
        pictures.Pair("a", "old.png", None, True),
        pictures.Pair("b", None, "new.png", True),
    ]


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(InputError, match="has no locked tables of figures"):
        pictures.draw_locked(tmp_path, tmp_path / "out")


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
                for module in re.findall(r"-m (transformer_dynamics[\w.]*)", step["run"]):
                    assert (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").is_file()
                for script in re.findall(r"\.github/\w+|\.ci/run", step["run"]):
                    assert os.access(ROOT / script, os.X_OK)


def test_every_run_of_the_lock_is_re_verified():
    texts = {path.stem: path.read_text() for path in WORKFLOWS}
    assert ".github/verify hash" in texts["pull_request"]
    assert ".github/verify seed" in texts["nightly"]
    weekly = yaml.safe_load(texts["weekly"])["jobs"]
    assert weekly["newest"]["continue-on-error"]
    assert not weekly["lock"].get("continue-on-error", False)
    for name in ("lock", "newest"):
        strategy = weekly[name]["strategy"]
        assert strategy["matrix"]["part"] == list(PARTS)
        assert not strategy["fail-fast"]
        commands = [step.get("run") for step in weekly[name]["steps"]]
        for script in ("verify", "record"):
            assert f'.github/{script} full "$PART"' in commands


def test_a_package_that_cannot_be_audited_fails_the_audit():
    """As it does not by itself: what the service does not know passes without --strict."""
    rule = (ROOT / "Makefile").read_text().split("\naudit:")[1].split("\n\n")[0]
    assert "pip-audit --strict" in rule
