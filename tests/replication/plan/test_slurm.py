"""Jobs that an earlier run has left in Slurm's queue; `squeue` says what a test wants."""

import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from cluster.runs import commands_of_the_document
from conftest import EXAMPLE, FIGURE, ROOT, STUDIES, Template
from snakemake.iocontainers import ResourceList
from snakemake_executor_plugin_slurm.submit_string import get_submit_command
from snakemake_executor_plugin_slurm.utils import set_gres_string

from replication.base.errors import InputError
from replication.plan import slurm
from replication.plan.configuration import configure, merge, read_overlay
from replication.plan.jobs import Jobs
from replication.plan.rules import Rule, RuleFunctions

QUEUE = """\
12|{folder}|rule_runs_wildcards_example_printed_1
13|{folder}|rule_runs_wildcards_example_printed_2
14|{folder}/elsewhere|rule_runs_wildcards_example_printed_1
15|{folder}|an editor
"""


SLURM = SimpleNamespace(name="slurm")
"""As much of Snakemake's executor as a run looks at before it starts."""
ON_GPU = {"computation": {"device": "cuda"}}
PARAMETERS = dict.fromkeys(
    ("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir"), "any"
)
"""Of a call of `sbatch`, besides what the job declares."""


def overlay(study: str) -> Path:
    """The settings of a study at the paper's scale."""
    return STUDIES[study].folder / "paper_scale.yaml"


class Queue:
    """Stands in for Slurm's commands."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "queue"
        self.file.touch()
        self.say(f"cat {self.file}")
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def say(self, command: str) -> None:
        self.program("squeue", command)

    def program(self, name: str, command: str) -> None:
        path = self.file.parent / name
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)


@pytest.fixture
def queue(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Queue:
    return Queue(tmp_path_factory.mktemp("slurm"), monkeypatch)


def test_only_jobs_of_this_folder_count(tmp_path: Path, queue: Queue):
    queue.file.write_text(QUEUE.format(folder=tmp_path))
    assert slurm.jobs_in_queue(tmp_path) == ["12", "13"]


def test_a_run_refuses_while_jobs_are_left(tmp_path: Path, queue: Queue):
    queue.file.write_text(QUEUE.format(folder=tmp_path))
    with pytest.raises(InputError, match=r"^2 jobs of an earlier run .* with `scancel 12 13`"):
        slurm.prepare_run(tmp_path, SLURM)


def test_a_run_refuses_while_slurm_is_silent(tmp_path: Path, queue: Queue):
    queue.say("echo 'cannot reach the controller' >&2; exit 1")
    with pytest.raises(InputError, match=r"Slurm does not say .*\(cannot reach the controller\)"):
        slurm.prepare_run(tmp_path, SLURM)


@pytest.mark.parametrize("executor", [None, SimpleNamespace(name="local")])
def test_jobs_that_are_left_are_no_matter_of_other_executors(
    tmp_path: Path, queue: Queue, executor: object
):
    queue.file.write_text(QUEUE.format(folder=tmp_path))
    slurm.prepare_run(tmp_path, executor)


def test_a_local_run_does_not_ask_slurm(template: Template, queue: Queue):
    queue.say(f"touch {queue.file}.asked")
    template.environment["PATH"] = os.environ["PATH"]
    template.run("results/example/data/printed/1-5.npz")
    assert not Path(f"{queue.file}.asked").exists()


def test_a_run_on_a_cluster_refuses_in_one_sentence(template: Template, queue: Queue):
    queue.file.write_text(QUEUE.format(folder=template.folder))
    template.environment["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    profile = ("--workflow-profile", "profiles/cluster-generic")
    output = template.run(FIGURE, *profile, succeed=False)
    assert "2 jobs of an earlier run are still in Slurm's queue" in output
    assert "Traceback" not in output
    assert not (template.folder / "results").exists()


def test_without_slurm_there_is_nothing_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm.prepare_run(tmp_path, SLURM)


DATA = ("results/example/data/printed/1-5.npz", "results/example/data/replication/101-105.npz")
DEVICE = """
    @property
    def device(self) -> str:
        return "cuda" if self.noise else "cpu"
"""


@pytest.mark.parametrize(
    ("profile", "sooner"),
    [("slurm", ["--slurm-init-seconds-before-status-checks", "1"]), ("cluster-generic", [])],
)
def test_only_a_job_that_computes_on_a_gpu_asks_for_one(
    template: Template, queue: Queue, profile: str, sooner: list[str]
):
    """The other asks for none, not even for 0. Both are refused once they have asked."""
    asked = queue.file.parent / "asked"
    queue.program("sbatch", f'echo $(echo "$@" | tr = " ") >> {asked}; exit 1')
    for name in ("sacct", "sacctmgr", "sinfo"):
        queue.program(name, "echo 'main*'")
    template.edit(f"{EXAMPLE}/settings.py", 'of the targets."""\n', f'of the targets."""\n{DEVICE}')
    template.environment["PATH"] = os.pathsep.join(
        [str(queue.file.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    without = "example={experiments: {replication: {training: {problem: {noise: 0}}}}}"
    given = ("--workflow-profile", f"profiles/{profile}", "--retries", "0", *sooner)
    output = template.run(*DATA, *given, "--config", without, succeed=False)
    assert asked.is_file(), output
    printed, replication = sorted(
        [line.split() for line in asked.read_text().splitlines()],
        key=lambda words: "--gpus" not in words,
    )
    for words in (printed, replication):
        option = dict(pairwise(words))
        assert (option["--mem"], option.get("--time") or option["-t"]) == ("1500", "30")
    assert dict(pairwise(printed))["--gpus"] == "1"
    assert not [word for word in replication if "gpu" in word]


@pytest.mark.parametrize("study", [each for each in STUDIES if overlay(each).is_file()])
@pytest.mark.parametrize("attempt", [1, 3])
def test_jobs_at_the_papers_scale_ask_slurm_for_what_they_declare(study: str, attempt: int):
    """They ask for more after each failure."""
    found = {study: STUDIES[study]}
    jobs = Jobs.of(configure(merge(read_overlay(overlay(study)), ON_GPU), found), found)
    for path, task in jobs.steps.items():
        rule = RuleFunctions(Rule("", [path], "", ""), jobs, str, lambda *_: None, lambda _: True)
        needs = {
            "mem_mb": rule.memory({}, attempt),
            "runtime": rule.minutes({}, attempt),
            "gpu": rule.gpus({}),
        }
        told = {name: need for name, need in needs.items() if need is not None}
        job = SimpleNamespace(resources=ResourceList(fromdict=told), threads=1)
        words = (get_submit_command(job, PARAMETERS) + set_gres_string(job)).split()
        asked = dict(pairwise(words))
        assert asked["--mem"] == str(task.memory * attempt)
        assert asked["-t"] == str(task.minutes * attempt)
        gpus = ["--gpus=1"] if task.device == "cuda" else []
        assert [word for word in words if "gpu" in word] == gpus
    assert {"cuda", "cpu"} == {task.device for task in jobs.steps.values()}


def test_the_document_plans_a_study(template: Template):
    """Its commands up to the dry run; `tests/cluster` runs all of them on a real Slurm."""
    (template.folder / "toy.yaml").write_text(
        "example: {experiments: {replication: {seeds: {count: 5}}}}"
    )
    clone, make, plan, run, show = commands_of_the_document("example", "toy.yaml")
    assert clone.startswith("git clone ")
    targets = re.search(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    assert targets
    assert {*make.split()} <= {"make", *targets[1].split()}
    assert plan.replace(" -n ", " ") == run
    assert show == "cat results/example/verdicts.md"
    program, *words = shlex.split(plan)
    assert program == ".venv/bin/snakemake"
    output = template.run(*words)
    told = "21 jobs: 6 seconds of one core; 19 jobs of unknown time, 9.5 hours at most"
    assert f"{told}; the largest job asks for 1,500 MB: figures/example/fig1.csv" in output
