"""The DAG: what reruns, the same bytes every time, and what a user reads when it fails."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, Project

from transformer_dynamics.frames import write_table
from transformer_dynamics.scan_and_snap.streams import Sequences

FIGURE = "figures/fig6.pdf"
RUNS = "results/scan_and_snap/syn_medium/runs"
SEQUENCES = "results/scan_and_snap/syn_medium/sequences"
ENTROPY = "results/scan_and_snap/syn_medium/metrics/entropy.parquet"
PACKAGE = "src/transformer_dynamics"
TRAINS = {"training": 2, "metrics": 1, "figure_table": 1, "figure": 1}
ALL = {"sequences": 2, **TRAINS}


def test_nothing_reruns_when_nothing_changed(finished_project: Project):
    assert finished_project.planned(FIGURE) == {}


def test_touching_every_file_reruns_nothing(finished_project: Project):
    for path in finished_project.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert finished_project.planned(FIGURE) == {}


@pytest.mark.parametrize(
    ("path", "old", "new", "planned", "named"),
    [
        pytest.param(
            f"{PACKAGE}/scan_and_snap/model.py",
            "        norm = v.norm",
            "        # a remark\n        norm = v.norm",
            {},
            None,
            id="comment",
        ),
        pytest.param(
            f"{PACKAGE}/scan_and_snap/training.py",
            "(0.9, 0.999), 1e-8",
            "(0.9, 0.999), 1e-9",
            TRAINS,
            "scan_and_snap.training@",
            id="constant of training",
        ),
        pytest.param(
            f"{PACKAGE}/scan_and_snap/metrics.py",
            "axis=-1).mean(axis=-1))",
            "axis=-1).mean(axis=-1) + 1e-9)",
            {"metrics": 1, "figure_table": 1, "figure": 1},
            "scan_and_snap.metrics@",
            id="constant of a metric",
        ),
        pytest.param(
            "requirements.lock",
            "torch==2.13.0",
            "torch==2.12.0",
            TRAINS,
            "torch==2.12.0",
            id="torch",
        ),
        pytest.param(
            f"{PACKAGE}/scan_and_snap/figures/fig6.py",
            'color="black", linestyle="--"',
            'color="grey", linestyle="--"',
            {"figure": 1},
            "scan_and_snap.figures.fig6@",
            id="colour",
        ),
        pytest.param(
            "papers/scan_and_snap/fig6_published.csv",
            "1,0.5,1,1.971,0.028",
            "1,0.5,1,1.972,0.028",
            {"figure": 1},
            "fig6_published.csv",
            id="published value",
        ),
    ],
)
def test_an_edit_reruns_what_it_reaches(finished_project: Project, path, old, new, planned, named):
    finished_project.edit(path, old, new)
    try:
        assert finished_project.planned(FIGURE) == planned
        if named:
            reasons = re.findall("Reason: (.*)", finished_project.run(FIGURE, "--dry-run"))
            assert any(named in reason for reason in reasons), reasons
    finally:
        finished_project.edit(path, new, old)


def make_old(*paths):
    """As after a clock was set back: the files look older than all there was before."""
    for path in paths:
        os.utime(path, (1, 1))


def test_an_edit_counts_whatever_its_time(finished_project: Project):
    edit = ("papers/scan_and_snap/fig6_published.csv", "1,0.5,1,1.971", "1,0.5,1,1.972")
    finished_project.edit(*edit)
    try:
        make_old(finished_project.folder / edit[0])
        assert finished_project.planned(FIGURE) == {"figure": 1}
    finally:
        finished_project.edit(edit[0], edit[2], edit[1])


def test_what_was_made_anew_counts_whatever_its_time(finished_project: Project, tmp_path: Path):
    other = Project(tmp_path)
    for name in ("results", "figures", ".snakemake"):
        shutil.copytree(finished_project.folder / name, other.folder / name)
    runs = [f"{RUNS}/{seed}.npz" for seed in (1, 2)]
    other.edit(
        f"{PACKAGE}/scan_and_snap/training.py", "state.rate, value=-1", "state.rate, value=-2"
    )
    other.run(*runs)
    make_old(*(other.folder / path for path in runs))
    assert other.planned(FIGURE) == {"metrics": 1, "figure_table": 1, "figure": 1}


def test_every_figure_is_drawn_and_a_colour_redraws_one_alone(project: Project):
    project.run("figures")
    project.edit(f"{PACKAGE}/scan_and_snap/figures/fig6.py", "linewidth=0.5", "linewidth=0.7")
    output = project.run("figures", "--dry-run")
    assert re.findall(r"Drawing (\S+)", output) == [FIGURE]
    assert project.planned("figures") == {"figure": 1, "figures": 1}
    project.run("errata")
    table = (project.folder / "results/scan_and_snap/errata.md").read_text().splitlines()[6:]
    assert [row.split(" | ")[0] for row in table] == [
        *(f"| E{number}" for number in range(1, 8)), "| A", "| B", "| C"
    ]  # fmt: skip


def test_a_changed_setting_reruns_what_depends_on_it(finished_project: Project):
    path = "config/quick.yaml"
    finished_project.edit(path, "eta_z: [0.5, 3]", "eta_z: [0.5, 2]")
    try:
        assert finished_project.planned(FIGURE) == TRAINS
    finally:
        finished_project.edit(path, "eta_z: [0.5, 2]", "eta_z: [0.5, 3]")


def test_figure_and_configuration_are_written(finished_project: Project):
    folder = finished_project.folder
    assert "seeds_per_job: 1" in (folder / "results/config.yaml").read_text()
    table = pd.read_csv(folder / "figures/fig6.csv")
    assert list(table.columns) == [
        "num_last", "eta_z", "ratio", "entropy_mean", "entropy_std", "n_seeds", "stream"
    ]  # fmt: skip
    assert len(table) == 4 * 4
    content = (folder / FIGURE).read_bytes()
    assert b"Scan and Snap, Figure 6" in content
    assert b"seeds 1-2" in content
    assert b"CreationDate" not in content


def test_bytes_do_not_depend_on_cores_batches_or_interruptions(
    finished_project: Project, tmp_path: Path
):
    expected = finished_project.files("results", "figures")
    one_core = Project(tmp_path / "one")
    interrupted = Project(tmp_path / "interrupted")
    one_core.run(FIGURE, "--cores", "1")
    assert one_core.files("results", "figures") == expected

    process = interrupted.start(FIGURE, "--cores", "2")
    wait_for(lambda: list((interrupted.folder / SEQUENCES).glob("*.npz")), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    interrupted.run("--unlock")
    interrupted.run(FIGURE, "--cores", "2")
    assert interrupted.files("results", "figures") == expected


def test_seeds_per_job_changes_no_number(finished_project: Project, tmp_path: Path):
    batched = Project(tmp_path)
    batched.edit(
        "config/quick.yaml", "scan_and_snap:", "computation: {seeds_per_job: 10}\nscan_and_snap:"
    )
    output = batched.run(FIGURE)
    assert "Training syn_medium, seeds 1-2 " in output
    for path in ("figures/fig6.csv", FIGURE):
        assert (batched.folder / path).read_bytes() == (finished_project.folder / path).read_bytes()
    with np.load(batched.folder / RUNS / "1-2.npz") as together:
        for index, seed in enumerate([1, 2]):
            with np.load(finished_project.folder / RUNS / f"{seed}.npz") as alone:
                for name in set(alone.files) - {"provenance"}:
                    np.testing.assert_array_equal(together[name][index], alone[name][0])


def test_a_killed_job_is_the_only_one_that_is_repeated(project: Project):
    project.edit(
        "config/quick.yaml",
        "    syn_medium:\n      seeds: {count: 2}",
        "    syn_medium:\n      seeds: {count: 3}",
    )
    process = project.start(FIGURE, "--cores", "1")
    finished = project.folder / RUNS
    # Kill the training job that follows the first finished one.
    wait_for(lambda: list(finished.glob("[0-9].npz")), process)
    victim = wait_for(lambda: training_process(project), process)
    os.kill(victim, signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "Error in rule training" in output
    left = {path.stem for path in finished.glob("[0-9].npz")}
    assert 1 <= len(left) <= 2
    planned = project.planned(FIGURE)
    assert planned["training"] == 3 - len(left)
    project.run(FIGURE)


def training_process(project: Project) -> int | None:
    """Process id of a training program of this project that has not written its output."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        if folder == project.folder and b"transformer_dynamics.scan_and_snap.stages.train" in words:
            output = words[words.index(b"--output") + 1].decode()
            if not (folder / output).exists():
                return int(entry.name)
    return None


def wait_for(condition, process, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_truncated_intermediate_is_named(project: Project):
    project.run(f"{RUNS}/1.npz", f"{RUNS}/2.npz")
    path = project.folder / RUNS / "1.npz"
    path.write_bytes(path.read_bytes()[:1000])
    output = project.run(FIGURE, succeed=False)
    assert f"Error: {RUNS}/1.npz: truncated, damaged or not made by this project" in output
    assert "Traceback" not in output
    path.unlink()
    project.run(FIGURE)


def test_changed_figure_table_is_named(finished_project: Project, tmp_path: Path):
    other = Project(tmp_path)
    for name in ("results", "figures", ".snakemake"):
        shutil.copytree(finished_project.folder / name, other.folder / name)
    table = other.folder / "figures/fig6.csv"
    table.write_text(table.read_text()[:300])
    output = other.run(FIGURE, succeed=False)
    assert "Error: figures/fig6.csv was changed after it was made; delete it" in output
    table.unlink()
    other.run(FIGURE)
    assert table.read_bytes() == (finished_project.folder / "figures/fig6.csv").read_bytes()


def test_foreign_table_is_named(finished_project: Project, tmp_path: Path):
    """A table made by other settings, put in place by hand."""
    other = Project(tmp_path)
    for name in ("results", ".snakemake"):
        shutil.copytree(finished_project.folder / name, other.folder / name)
    job_file = other.folder / ENTROPY
    from transformer_dynamics.scan_and_snap.paper_settings import PAPER

    job = PAPER.measure_job("syn_medium", "entropy", "cpu")
    write_table(job_file, pd.read_parquet(job_file), job.provenance([1, 2]))
    output = other.run("figures/fig6.csv", succeed=False)
    assert f"Error: {ENTROPY}: made by another configuration" in output
    assert "settings.sampling.steps is 100, expected 10" in output


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ("scan_and_snap: {experiments: {syn_medium: {seed: [1]}}}", "did you mean 'seeds'?"),
        (
            "scan_and_snap: {experiments: {syn_medium: {training: {eta_z: [-1]}}}}",
            "greater than 0 (given: -1)",
        ),
        (
            "scan_and_snap: {mixtures: {syn_medium_1: {common_weights: [1, 2]}}}",
            "stream 'authors' is not defined for mixture 'syn_medium_1'",
        ),
    ],
)
def test_wrong_configuration_stops_before_anything_runs(project: Project, overlay, message):
    (project.folder / "config/quick.yaml").write_text(overlay)
    output = project.run(FIGURE, succeed=False)
    assert message in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()


def test_divergence_is_named(project: Project):
    project.edit("config/quick.yaml", "eta_z: [0.5, 3]", "eta_z: [0.5, 1.0e+38]")
    output = project.run(f"{RUNS}/1.npz", succeed=False)
    assert "training diverged: mixture 'syn_medium_1', seed 1, eta_z 1e+38" in output


def test_an_own_experiment_runs_to_its_own_figure(project: Project):
    (project.folder / "config/quick.yaml").write_text(
        """
scan_and_snap:
  mixtures:
    own:
      num_last: 2
      next_tokens_per_query: 3
      common_weights: [3, 1]
      distinct_weights: [1, 2, 4]
  experiments:
    own:
      mixtures: [own]
      seeds: {first: 5, count: 2}
      sampling: {stream: independent, steps: 5, batch_size: 16, sequence_length: 20}
      training: {optimizer: sgd, eta_z: [1], ratio: [1, 2], initialization: uniform, residual: true}
  figures:
    own: {drawing: fig6, experiment: own, next_tokens_per_query: 3}
"""
    )
    project.run("figures/own.pdf")
    table = pd.read_csv(project.folder / "figures/own.csv")
    assert table["num_last"].tolist() == [2, 2]
    assert table["stream"].tolist() == ["independent"] * 2
    with np.load(project.folder / "results/scan_and_snap/own/sequences/5.npz") as archive:
        assert {f"own/{field}" for field in Sequences._fields} < set(archive.files)


def test_published_values_are_reproduced(tmp_path: Path):
    """The paper's own setting from nothing: seeds 1-10, 100 updates, every published cell."""
    project = Project(tmp_path)
    project.run("figures/fig6.csv", quick=False)
    found = pd.read_csv(project.folder / "figures/fig6.csv")
    published = pd.read_csv(ROOT / "papers/scan_and_snap/fig6_published.csv")
    both = published.merge(found, on=["num_last", "eta_z", "ratio"], suffixes=("_published", ""))
    assert len(found) == 64
    assert len(both) == len(published) >= 32
    assert set(both["n_seeds"]) == {10}
    for column in ("entropy_mean", "entropy_std"):
        worst = (both[column] - both[f"{column}_published"]).abs().max()
        assert worst <= 0.0006, f"{column} differs by {worst}"
