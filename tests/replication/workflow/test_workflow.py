"""The DAG: what reruns, the same bytes every time, and what a user reads when it fails.

On the template, whose experiment `replication` has two files of runs.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import EXAMPLE, FIGURE, FIGURES, ROOT, RUNS, SEEDS, Template, counted

from replication.base.process import FLAGS as OF_JOBS
from replication.base.storage import write_table
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.steps import provenance
from replication.study.studies import find_studies

DATA = "results/example/data/replication"
HALF_LIVES = "results/example/metrics/replication/half_life.parquet"
FIGURE2 = FIGURES[1]
TABLE1 = "figures/example/fig1.csv"
TABLE2 = "figures/example/fig2.csv"
FLAGS = " ".join(OF_JOBS)
SNAKEMAKE = str(Path(sys.executable).with_name("snakemake"))


def test_figure_and_configuration_are_written(finished: Template):
    folder = finished.folder
    assert "seeds_per_job: null" in (folder / "results/config.yaml").read_text()
    table = pd.read_csv(folder / "figures/example/fig1.csv")
    assert list(table.columns) == ["variance", "update", "error_mean", "error_std", "theory"]
    assert len(table) == 4 * 201
    content = (folder / FIGURE).read_bytes()
    assert b"Example, Figure 1" in content
    assert b"seeds 1-5" in content
    assert b"CreationDate" not in content


def recorded_commands(project: Template) -> list[str]:
    """The shell commands that Snakemake has kept of every job."""
    records = (project.folder / ".snakemake/metadata").rglob("*")
    return [json.loads(record.read_text())["shellcmd"] for record in records if record.is_file()]


def run_by_path(project: Template, snakemake: list[str], *arguments: str) -> str:
    """Run a Snakemake of which only the path is known: no environment is active."""
    done = subprocess.run(
        [*snakemake, *arguments],
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


def test_no_environment_must_be_active(template: Template):
    begins = f"{sys.executable} {FLAGS} -m replication.run.program "
    made = f"{DATA}/{SEEDS[0]}.npz"
    run_by_path(template, [SNAKEMAKE], made, "--printshellcmds")
    assert (template.folder / made).is_file()
    (log,) = (template.folder / ".snakemake/log").iterdir()
    (recorded,) = recorded_commands(template)
    assert recorded.startswith(begins)
    assert log.read_text().count(begins) == 1


def test_the_path_of_python_reruns_nothing(finished_project: Template, tmp_path: Path):
    """Of the five jobs just the one that is forced is planned, with the other path."""
    (tmp_path / "environment").symlink_to(sys.prefix)
    python = str(tmp_path / "environment/bin" / Path(sys.executable).name)
    forced = ("--dry-run", "--printshellcmds", "--forcerun", "figure")
    output = run_by_path(finished_project, [python, "-m", "snakemake"], FIGURE, *forced)
    assert f"{python} {FLAGS} -m replication.run.program" in output
    assert counted(output) == {"figure": 1}
    assert re.findall("Reason: (.*)", output) == ["Forced execution"]


def test_every_job_is_told_the_python_that_runs_snakemake(template: Template):
    output = template.run(FIGURE, "--dry-run", "--printshellcmds")
    begins = f"Shell command: {template.pythons.python} {FLAGS} -m replication.run.program "
    assert output.count(begins) == sum(counted(output).values()) == 5


def test_a_job_in_an_image_uses_the_python_of_the_image(template: Template, tmp_path: Path):
    """As far as it can be tried without Apptainer: what it would be told to run."""
    asked, apptainer = tmp_path / "asked", tmp_path / "bin/apptainer"
    apptainer.parent.mkdir()
    apptainer.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo "apptainer version 1.3.0"\n'
        f'printf "%s\\n" "$@" > {asked}\n'
    )
    apptainer.chmod(0o755)
    (template.folder / "transformer-dynamics.sif").touch()
    template.environment["PATH"] = f"{apptainer.parent}:{template.environment['PATH']}"
    in_image = ("--software-deployment-method", "apptainer")
    template.run(f"{DATA}/{SEEDS[0]}.npz", *in_image, "--latency-wait", "0", succeed=False)
    assert f"; python {FLAGS} -m replication.run.program" in re.sub(" +", " ", asked.read_text())


@pytest.mark.campaign
def test_bytes_do_not_depend_on_cores_batches_or_interruptions(finished: Template, tmp_path: Path):
    targets = (FIGURE2, TABLE2)
    one_core, interrupted = (Template(tmp_path / name) for name in ("one", "interrupted"))
    one_core.run(*targets, "--cores", "1")
    made = one_core.files("results", "figures")
    assert made == {
        path: content
        for path, content in finished.files("results", "figures").items()
        if path in made
    }

    process = interrupted.start(*targets, "--cores", "2")
    wait_for(lambda: list((interrupted.folder / DATA).glob("*.npz")), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    interrupted.run("--unlock")
    interrupted.run(*targets, "--cores", "2")
    assert interrupted.files("results", "figures") == made


def test_seeds_per_job_changes_no_number(finished: Template, template: Template):
    template.add("computation: {seeds_per_job: 20}\n")
    assert "Training replication/101-110 of example" in template.run(TABLE2)
    assert (template.folder / TABLE2).read_bytes() == (finished.folder / TABLE2).read_bytes()
    with np.load(template.folder / RUNS / "101-110.npz") as together:
        for seeds, place in zip(SEEDS, (slice(0, 5), slice(5, 10)), strict=True):
            with np.load(finished.folder / RUNS / f"{seeds}.npz") as alone:
                for name in set(alone.files) - {"provenance"}:
                    np.testing.assert_array_equal(together[name][place], alone[name])


def test_of_a_job_that_a_signal_ends_it_is_said(template: Template):
    template.edit(
        f"{EXAMPLE}/data.py", "\nimport ", "\nimport os\nos.kill(os.getpid(), 9)\nimport "
    )
    output = template.run(f"{DATA}/{SEEDS[0]}.npz", succeed=False)
    assert "Error in rule data" in output
    assert "Error: ended by the signal KILL" in output
    log = f"logs/example/data/replication/{SEEDS[0]}.log"
    assert f"Memory or threads probably lacked, see {log}: " in output


@pytest.mark.campaign
def test_a_killed_job_is_the_only_one_that_is_repeated(template: Template):
    template.make_two_jobs(25)
    process = template.start(FIGURE, "--cores", "1")
    finished = template.folder / RUNS.replace("replication", "printed")
    # Kill the training job that follows the first finished one.
    wait_for(lambda: list(finished.glob("[0-9]*.npz")), process)
    victim = wait_for(lambda: training_process(template), process)
    os.kill(victim, signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "Error in rule runs" in output
    assert "Error: ended by the signal KILL" in output
    left = {path.stem for path in finished.glob("[0-9]*.npz")}
    assert 1 <= len(left) <= 2
    planned = template.planned(FIGURE)
    assert planned["runs"] == 3 - len(left)
    template.run(FIGURE)


def training_process(project: Template) -> int | None:
    """Process id of a training program of this project that has not written its output."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        if folder == project.folder and b"replication.run.program" in words:
            (step,) = json.loads((folder / words[-2].decode()).read_text())
            if step["stage"] == "runs" and not (folder / step["outputs"][0]).exists():
                return int(entry.name)
    return None


def wait_for(condition, process):
    """What the condition gives, however slow this machine is; the process ends at the latest."""
    while not (found := condition()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    return found


def test_an_edited_intermediate_is_named_and_the_advice_helps(finished_project: Template):
    runs = f"{RUNS}/{SEEDS[0]}.npz"
    path = finished_project.folder / runs
    before = path.read_bytes()
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["weights"][:] = 0
    np.savez_compressed(path, **arrays)
    output = finished_project.run(FIGURE2, "--forcerun", "metrics", succeed=False)
    advice = f"snakemake --force {runs}"
    assert f"Error: {runs} was changed after it was made; `{advice}` makes it anew" in output
    assert "Traceback" not in output
    finished_project.run(*advice.split()[1:])
    finished_project.run(FIGURE2)
    assert path.read_bytes() == before


def test_a_damaged_input_costs_no_result(finished_project: Template):
    """Snakemake deletes outputs before a job begins, and so before it can refuse an input."""
    before = finished_project.files("results")
    data, run = f"{DATA}/{SEEDS[0]}.npz", f"{RUNS}/{SEEDS[0]}.npz"
    path = finished_project.folder / data
    damaged = bytearray(before[data])
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    output = finished_project.run(run, "--force", succeed=False)
    assert f"Error: {data}: truncated, damaged" in output
    assert (finished_project.folder / run).read_bytes() == before[run]
    finished_project.run(data, "--force")
    finished_project.run(run)
    assert finished_project.files("results") == before


def test_a_training_that_fails_under_an_overlay_has_nothing_made_again_without_it(
    finished_project: Template,
):
    """Snakemake brings the runs back, and would record that the failed job made them."""
    overlay = finished_project.folder / "long.yaml"
    overlay.write_text("example: {experiments: {printed: {training: {updates: 10000000000000}}}}\n")
    failing = (TABLE1, "--configfile", str(overlay))
    assert "does not fit into memory" in finished_project.run(*failing, succeed=False)
    assert finished_project.planned(*FIGURES) == {}
    assert finished_project.planned(*failing)["runs"] == 1


def test_a_foreign_table_is_made_anew(finished_project: Template):
    """One of other settings, put in place by hand."""
    studies = {"example": find_studies()["example"]}
    change = {"example": {"experiments": {"replication": {"training": {"updates": 300}}}}}
    made = provenance(Jobs.of(configure(change, studies), studies).ready(HALF_LIVES))
    path = finished_project.folder / HALF_LIVES
    before = path.read_bytes()
    write_table(path, pd.read_parquet(path), made)
    finished_project.run(TABLE2)
    assert path.read_bytes() == before


thorough = pytest.mark.thorough


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ("example: {experiments: {printed: {seed: {first: 1}}}}", "did you mean 'seeds'?"),
        pytest.param(
            "example: {experiments: {printed: {training: {learning_rate: -1}}}}",
            "greater than 0 (given: -1)",
            marks=thorough,
        ),
        pytest.param("exampel: {}", "did you mean 'example'?", marks=thorough),
        pytest.param(
            "example: {figures: {fig1: {experiment: prnted}}}",
            "did you mean 'printed'?",
            marks=thorough,
        ),
        ("example: {a: 1, a: 2}", "config/quick.yaml: cannot be read (the key a stands twice"),
        ("example: {figures: {fig1: {published: .}}}", "fig1 > published: "),
    ],
)
def test_wrong_configuration_stops_before_anything_runs(template: Template, overlay, message):
    (template.folder / "config/quick.yaml").write_text(overlay)
    output = template.run(FIGURE, succeed=False)
    assert message in output
    assert "Traceback" not in output
    assert not (template.folder / "results").exists()


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        pytest.param("figures/example/fig11.jpg", "figures/example/fig1.pdf", marks=thorough),
        pytest.param("verfy", "verify", marks=thorough),
        ("results/example/data/printed/1-9.npz", "results/example/data/printed/1-5.npz"),
    ],
)
def test_what_was_meant_by_a_target_is_said(template: Template, target, meant):
    other = template.folder / "results/example/data/printed/1-9.npz"
    other.parent.mkdir(parents=True)
    other.write_text("of other seeds")
    output = template.run(target, succeed=False)
    assert f"{target}: is no target; did you mean {meant}?" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("target", "named"), [("", "an empty word"), pytest.param("x", "x", marks=thorough)]
)
def test_of_any_other_target_is_said_what_can_be_made(template: Template, target, named):
    output = template.run(target, succeed=False)
    assert f"\n{named}: is no target; targets are verify, reference, provenance," in output
    assert ", plain, and the files that `snakemake targets` lists" in output
    assert "Traceback" not in output


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_begins_that_needs_one(template: Template):
    """Jobs that need none are made; the settings of a job say whether it does."""
    last = "    updates: int = Field(ge=1)\n"
    template.edit(f"{EXAMPLE}/settings.py", last, f'{last}    device: str = "cuda"\n')
    output = template.run(TABLE2, succeed=False)
    assert "device cuda: PyTorch finds no GPU here; run it where there is one" in output
    assert not list(template.folder.glob("results/example/**/*.*"))
    template.run(f"{DATA}/101-105.npz")


def test_every_profile_schedules_quickly():
    """Snakemake's own choice takes four times as long where thousands of jobs wait."""
    for profile in ROOT.glob("profiles/*/config.yaml"):
        text = profile.read_text()
        assert "\nscheduler: greedy\nscheduler-subsample: 100\n" in text, profile
