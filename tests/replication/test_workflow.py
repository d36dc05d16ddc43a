"""The DAG: what reruns, the same bytes every time, and what a user reads when it fails.

On the template, whose experiment `printed` has two files of runs here.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import FIGURE, Project, counted

from replication.configuration import configure
from replication.frames import write_table
from replication.jobs import Jobs
from replication.provenance import provenance
from replication.seeds import parse_seeds
from replication.study import find_studies

RUNS = "results/example/runs/printed"
DATA = "results/example/data/printed"
ERRORS = "results/example/metrics/printed/error.parquet"
TABLE = "figures/example/fig1.csv"
ENGINE = "src/replication"
PACKAGE = "src/transformer_dynamics/example"
PUBLISHED = f"{PACKAGE}/published/fig1.csv"
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))
DRAWS = {"table": 1, "figure": 1}
MEASURES = {"metrics": 1, **DRAWS}
TRAINS = {"runs": 2, **MEASURES}
ALL = {"data": 2, **TRAINS}


def test_nothing_reruns_when_nothing_changed(finished_project: Project):
    assert finished_project.planned(FIGURE) == {}


def test_touching_every_file_reruns_nothing(finished_project: Project):
    for path in finished_project.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert finished_project.planned(FIGURE) == {}


@pytest.fixture
def edit(finished_project: Project):
    """Replaces the first occurrence of a text in a file, for the time of a test."""
    kept: dict[Path, bytes] = {}

    def edit(path: str, old: str, new: str) -> None:
        file = finished_project.folder / path
        before = file.read_bytes()
        kept.setdefault(file, before)
        assert old.encode() in before, f"{path} lacks: {old}"
        file.write_bytes(before.replace(old.encode(), new.encode(), 1))

    yield edit
    for file, content in kept.items():
        file.write_bytes(content)


def test_what_no_number_depends_on_reruns_nothing(finished_project: Project, edit):
    """All at once."""
    edit(f"{PACKAGE}/runs.py", "        residual = ", "        # a remark\n        residual = ")
    edit(f"{PACKAGE}/study.py", '"half_life", ', '"half_life", "speed", ')
    edit(f"{PACKAGE}/registry.yaml", "note: ", "note: It is so. ")
    edit(f"{ENGINE}/strict.py", "did you mean", "perhaps you mean")
    edit(f"{ENGINE}/errors.py", '"""\n\n', '"""\n\nA_NEW_CONSTANT = 1\n\n')
    edit("requirements-encoders.lock", "\ntorch==", "\ntorch==0.")  # which this study does not use
    edit("requirements-encoders.lock", "\nclick==", "\nclick==0.")  # which computes nothing
    for name in ("run", "jobs", "tasks", "stages", "storage", "verify"):
        edit(f"{ENGINE}/{name}.py", '"""\n\nimport ', '"""\n\nA_NEW_CONSTANT = 1\nimport ')
    assert finished_project.planned(FIGURE) == {}


@pytest.mark.parametrize(
    ("path", "old", "new", "planned", "named"),
    [
        pytest.param(
            f"{PACKAGE}/data.py",
            'generator(seed, "noise")',
            'generator(seed, "rounding")',
            ALL,
            "example.data@",
            id="data",
        ),
        pytest.param(
            f"{PACKAGE}/runs.py",
            "- job.learning_rate",
            "- 2 * job.learning_rate",
            TRAINS,
            "example.runs@",
            id="training",
        ),
        pytest.param(
            f"{PACKAGE}/measures.py",
            "1 - weights.ravel()",
            "2 - weights.ravel()",
            MEASURES,
            "example.measures@",
            id="metric",
        ),
        pytest.param(
            f"{PACKAGE}/figures/fig1.py",
            "linewidth=0.7",
            "linewidth=0.9",
            DRAWS,
            "example.figures.fig1@",
            id="line of a figure",
        ),
        pytest.param(
            PUBLISHED, "\n1,", "\n1.0,", {"figure": 1}, "published/fig1.csv", id="published value"
        ),
        pytest.param(
            f"{ENGINE}/generators.py",
            '"little"',
            '"big"',
            ALL,
            "replication.generators@",
            id="engine that computes",
        ),
        pytest.param(
            f"{ENGINE}/drawing.py",
            '"savefig.dpi": 300',
            '"savefig.dpi": 310',
            DRAWS,
            "replication.drawing@",
            id="style of drawings",
        ),
        pytest.param(
            "requirements-encoders.lock", "\nnumpy==", "\nnumpy==0.", ALL, "numpy==0.", id="numpy"
        ),
    ],
)
def test_an_edit_reruns_what_it_reaches(
    finished_project: Project, edit, path, old, new, planned, named
):
    edit(path, old, new)
    output = finished_project.run(FIGURE, "--dry-run")
    assert counted(output) == planned
    reasons = re.findall("Reason: (.*)", output)
    assert any(named in reason for reason in reasons), reasons


def test_a_changed_setting_reruns_what_depends_on_it(finished_project: Project, edit):
    edit("src/transformer_dynamics/example/config.yaml", "updates: 200", "updates: 150")
    assert finished_project.planned(FIGURE) == TRAINS


def test_an_edit_of_one_figure_reruns_no_other(project: Project):
    both = (FIGURE, "figures/example/fig2.pdf")
    project.run(*both)
    project.edit(f"{PACKAGE}/figures/fig1.py", "linewidth=0.7", "linewidth=0.9")
    output = project.run(*both, "--dry-run")
    assert re.findall(r"Drawing (\S+)", output) == [FIGURE]
    assert counted(output) == DRAWS


def make_old(*paths):
    """As after a clock was set back: the files look older than all there was before."""
    for path in paths:
        os.utime(path, (1, 1))


def test_an_edit_counts_whatever_its_time(finished_project: Project, edit):
    edit(PUBLISHED, "\n1,", "\n1.0,")
    make_old(finished_project.folder / PUBLISHED)
    assert finished_project.planned(FIGURE) == {"figure": 1}


def copied(project: Project, folder: Path, *names: str) -> Project:
    """A fresh project with what another one has made."""
    other = Project(folder)
    other.make_two_jobs()
    for name in names or ("results", "figures", ".snakemake"):
        shutil.copytree(project.folder / name, other.folder / name)
    return other


def test_what_was_made_anew_counts_whatever_its_time(finished_project: Project, tmp_path: Path):
    other = copied(finished_project, tmp_path)
    runs = [f"{RUNS}/{seeds}.npz" for seeds in ("1-8", "9-15")]
    other.edit(f"{PACKAGE}/runs.py", "- job.learning_rate", "- 2 * job.learning_rate")
    other.run(*runs)
    make_old(*(other.folder / path for path in runs))
    assert other.planned(FIGURE) == MEASURES


def test_figure_and_configuration_are_written(finished_project: Project):
    folder = finished_project.folder
    assert "seeds_per_job: null" in (folder / "results/config.yaml").read_text()
    table = pd.read_csv(folder / TABLE)
    assert list(table.columns) == ["variance", "update", "error_mean", "error_std", "theory"]
    assert len(table) == 4 * 201
    content = (folder / FIGURE).read_bytes()
    assert b"Example, Figure 1" in content
    assert b"seeds 1-15" in content
    assert b"CreationDate" not in content


def recorded_commands(project: Project) -> list[str]:
    """The shell commands that Snakemake has kept of every job."""
    records = (project.folder / ".snakemake/metadata").rglob("*")
    return [json.loads(record.read_text())["shellcmd"] for record in records if record.is_file()]


def run_by_path(project: Project, snakemake: list[str], *arguments: str) -> str:
    """Run a Snakemake of which only the path is known: no environment is active."""
    done = subprocess.run(
        [*snakemake, FIGURE, "--configfile", "config/quick.yaml", *arguments],
        cwd=project.folder,
        env={name: value for name, value in project.environment.items() if name != "VIRTUAL_ENV"}
        | {"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_no_environment_must_be_active(project: Project):
    run_by_path(project, [SNAKEMAKE], "--printshellcmds")
    assert (project.folder / FIGURE).is_file()
    (log,) = (project.folder / ".snakemake/log").iterdir()
    begins = f"{sys.executable} -m replication.run --job "
    recorded = recorded_commands(project)
    assert len(recorded) == 6, "the table and its checksum have a record each"
    assert all(command.startswith(begins) for command in recorded)
    assert log.read_text().count(begins) == 5


def test_the_path_of_python_reruns_nothing(finished_project: Project, tmp_path: Path):
    (tmp_path / "environment").symlink_to(sys.prefix)
    python = str(tmp_path / "environment/bin" / Path(sys.executable).name)
    forced = ("--dry-run", "--printshellcmds", "--forcerun", "figure")
    assert f"{python} -m replication.run" in run_by_path(
        finished_project, [python, "-m", "snakemake"], *forced
    )
    output = run_by_path(finished_project, [python, "-m", "snakemake"], "--dry-run")
    assert counted(output) == {}


def test_a_job_in_an_image_uses_the_python_of_the_image(project: Project, tmp_path: Path):
    """As far as it can be tried without Apptainer: what it would be told to run."""
    asked, apptainer = tmp_path / "asked", tmp_path / "bin/apptainer"
    apptainer.parent.mkdir()
    apptainer.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo "apptainer version 1.3.0"\n'
        f'printf "%s\\n" "$@" > {asked}\n'
    )
    apptainer.chmod(0o755)
    (project.folder / "transformer-dynamics.sif").touch()
    project.environment["PATH"] = f"{apptainer.parent}:{project.environment['PATH']}"
    in_image = ("--software-deployment-method", "apptainer")
    project.run(f"{DATA}/1-5.npz", *in_image, "--latency-wait", "0", succeed=False)
    assert "; python -m replication.run" in re.sub(" +", " ", asked.read_text())


def test_bytes_do_not_depend_on_cores_batches_or_interruptions(
    finished_project: Project, tmp_path: Path
):
    expected = finished_project.files("results", "figures")
    one_core = Project(tmp_path / "one")
    interrupted = Project(tmp_path / "interrupted")
    for project in (one_core, interrupted):
        project.make_two_jobs()
    one_core.run(FIGURE, "--cores", "1")
    assert one_core.files("results", "figures") == expected

    process = interrupted.start(FIGURE, "--cores", "2")
    wait_for(lambda: list((interrupted.folder / DATA).glob("*.npz")), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    interrupted.run("--unlock")
    interrupted.run(FIGURE, "--cores", "2")
    assert interrupted.files("results", "figures") == expected


def test_seeds_per_job_changes_no_number(finished_project: Project, tmp_path: Path):
    batched = Project(tmp_path)
    batched.make_two_jobs()
    batched.add("computation: {seeds_per_job: 20}\n")
    assert "Training printed/1-15 of example" in batched.run(FIGURE)
    for path in (TABLE, FIGURE):
        assert (batched.folder / path).read_bytes() == (finished_project.folder / path).read_bytes()
    with np.load(batched.folder / RUNS / "1-15.npz") as together:
        for seeds, place in (("1-8", slice(0, 8)), ("9-15", slice(8, 15))):
            with np.load(finished_project.folder / RUNS / f"{seeds}.npz") as alone:
                for name in set(alone.files) - {"provenance"}:
                    np.testing.assert_array_equal(together[name][place], alone[name])


def test_a_killed_job_is_the_only_one_that_is_repeated(project: Project):
    project.make_two_jobs(25)
    process = project.start(FIGURE, "--cores", "1")
    finished = project.folder / RUNS
    # Kill the training job that follows the first finished one.
    wait_for(lambda: list(finished.glob("[0-9]*.npz")), process)
    victim = wait_for(lambda: training_process(project), process)
    os.kill(victim, signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "Error in rule runs" in output
    assert "Error: ended by the signal KILL" in output
    left = {path.stem for path in finished.glob("[0-9]*.npz")}
    assert 1 <= len(left) <= 2
    planned = project.planned(FIGURE)
    assert planned["runs"] == 3 - len(left)
    project.run(FIGURE)


def training_process(project: Project) -> int | None:
    """Process id of a training program of this project that has not written its output."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        if folder == project.folder and b"--job" in words:
            job, output, *_ = (word.decode() for word in words[words.index(b"--job") + 1 :])
            order = (folder / job).read_text()
            if '"stage":"runs"' in order and not (folder / output).exists():
                return int(entry.name)
    return None


def wait_for(condition, process, seconds: float = 120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_truncated_intermediate_is_named(project: Project):
    runs = f"{RUNS}/1-5.npz"
    project.run(runs)
    path = project.folder / runs
    path.write_bytes(path.read_bytes()[:1000])
    output = project.run(FIGURE, succeed=False)
    assert f"Error: {runs}: truncated, damaged or not made by this project" in output
    assert "Traceback" not in output
    path.unlink()
    project.run(FIGURE)


def test_a_damaged_input_costs_no_result(finished_project: Project, tmp_path: Path):
    """Snakemake deletes outputs before a job begins, and so before it can refuse an input."""
    other = copied(finished_project, tmp_path)
    before = other.files("results")
    data, run = f"{DATA}/1-8.npz", f"{RUNS}/1-8.npz"
    path = other.folder / data
    path.write_bytes(before[data][:-100])
    output = other.run(FIGURE, succeed=False)
    assert f"Error: {data}: truncated, damaged" in output
    assert (other.folder / run).read_bytes() == before[run]
    path.unlink()
    other.run(FIGURE, data)
    assert other.files("results") == before


def test_changed_figure_table_is_named(finished_project: Project, tmp_path: Path):
    other = copied(finished_project, tmp_path)
    table = other.folder / TABLE
    table.write_text(table.read_text()[:300])
    output = other.run(FIGURE, succeed=False)
    said = f"Error: {TABLE} was changed after it was made; delete it"
    assert said in output
    echoed = output[output.index("RuleException") : output.index(said)]
    assert '"orders"' not in echoed, "what the program is told stands in a file"
    table.unlink()
    other.run(FIGURE)
    assert table.read_bytes() == (finished_project.folder / TABLE).read_bytes()


def test_foreign_table_is_named(finished_project: Project, tmp_path: Path):
    """A table made by other settings, put in place by hand."""
    other = copied(finished_project, tmp_path, "results", ".snakemake")
    studies = find_studies()
    change = {"example": {"experiments": {"printed": {"training": {"updates": 300}}}}}
    order = Jobs.of(configure(change, studies), studies).order(ERRORS)
    reads = [item.recipe.digest for item in order.inputs if item.recipe]
    seeds = parse_seeds("1-15")
    made = provenance(order.program, order.settings, seeds, reads)
    write_table(other.folder / ERRORS, pd.read_parquet(other.folder / ERRORS), made)
    output = other.run(TABLE, succeed=False)
    assert f"Error: {ERRORS}: made by another configuration or another version" in output
    assert "other settings" in output


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ("example: {experiments: {printed: {seed: {first: 1}}}}", "did you mean 'seeds'?"),
        (
            "example: {experiments: {printed: {training: {learning_rate: -1}}}}",
            "greater than 0 (given: -1)",
        ),
        ("exampel: {}", "did you mean 'example'?"),
        ("example: {figures: {fig1: {experiment: prnted}}}", "did you mean 'printed'?"),
        (
            "example: {experiments: {printed: {training: {updates: 010}}}}",
            "config/quick.yaml: cannot be read (line 1: YAML reads 010 as 8",
        ),
        ("example: {figures: {fig1: {published: .}}}", "fig1 > published: "),
    ],
)
def test_wrong_configuration_stops_before_anything_runs(project: Project, overlay, message):
    (project.folder / "config/quick.yaml").write_text(overlay)
    output = project.run(FIGURE, succeed=False)
    assert message in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("figures/example/fig11.jpg", "figures/example/fig1.pdf"),
        ("verfy", "verify"),
        ("results/example/data/printed/1-9.npz", "results/example/data/printed/1-5.npz"),
    ],
)
def test_what_was_meant_by_a_target_is_said(project: Project, target, meant):
    other = project.folder / "results/example/data/printed/1-9.npz"
    other.parent.mkdir(parents=True)
    other.write_text("of other seeds")
    output = project.run(target, succeed=False)
    assert f"{target}: nothing makes it; did you mean {meant}?" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(("target", "named"), [("", "an empty target"), ("x", "x")])
def test_of_any_other_target_is_said_what_can_be_made(project: Project, target, named):
    output = project.run(target, succeed=False)
    assert f"\n{named}: nothing makes it; ask for verify, reference, provenance," in output
    assert ", plain, or for a file, such as figures/fig1.pdf, results/" in output
    assert "Traceback" not in output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_begins_that_needs_one(project: Project):
    on_gpu = "--config", "computation={device: cuda}"
    output = project.run(TABLE, *on_gpu, succeed=False)
    assert "device cuda: PyTorch finds no GPU here; run it where there is one" in output
    assert not list(project.folder.glob("results/example/**/*.*"))
    project.run(f"{DATA}/1-5.npz", *on_gpu)


def test_every_profile_schedules_quickly():
    """Snakemake's own choice takes four times as long where thousands of jobs wait."""
    for profile in Path(__file__).parents[2].glob("profiles/*/config.yaml"):
        text = profile.read_text()
        assert "\nscheduler: greedy\nscheduler-subsample: 100\n" in text, profile
