"""Figure 6 on a real Slurm: through both profiles, the same bytes as on one machine."""

import re
import sys
from pathlib import Path

import pytest
from conftest import Project, Template
from faults.outcome import Fault

from cluster.daemons import Slurm
from cluster.faults import controller_killed, slurm_lost
from cluster.runs import (
    FIGURE,
    SOONER,
    ClusterProject,
    Run,
    commands_of_the_document,
    small_results,
)

pytestmark = pytest.mark.campaign

RULES = {"data": 2, "runs": 2, "metrics": 1, "table": 1, "figure": 1}


def test_slurm_gives_the_bytes_of_one_machine(
    cluster_project: ClusterProject, tmp_path_factory: pytest.TempPathFactory
):
    """The paper's own scale: 10 seeds, 100 updates, 64 cells."""
    here = Project(tmp_path_factory.mktemp("here"))
    here.run(FIGURE, quick=False)
    output = cluster_project.submit(quick=False).succeed()

    files = cluster_project.files("results", "figures")
    expected = here.files("results", "figures")
    assert sorted(files) == sorted(expected)
    assert [path for path in files if files[path] != expected[path]] == []

    jobs = cluster_project.slurm.jobs(cluster_project.folder)
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert rules(jobs) == RULES
    assert {job.number for job in jobs} == set(re.findall(r"SLURM jobid '?(\d+)", output))
    print(*jobs, sep="\n")


def test_the_commands_of_the_document_judge_a_study(tmp_path: Path, slurm: Slurm):
    """From the environment on; at a small scale."""
    project = ClusterProject(Template(tmp_path), slurm)
    (tmp_path / "toy.yaml").write_text("example: {experiments: {replication: {seeds: {count: 5}}}}")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    clone, make, *others = commands_of_the_document("example", "toy.yaml")
    assert clone.startswith("git clone ")
    assert make.startswith("make ")
    plan, run, show = (project.shell(command) for command in others)

    jobs = slurm.jobs(tmp_path)
    assert {job.state for job in jobs} == {"COMPLETED"}
    assert plan.count("jobs: ") == 1
    assert f"{len(jobs) + 1} jobs: " in plan, "the page is written here"
    assert "the largest job asks for 1,500 MB: figures/example/fig1.csv" in plan
    asked = [resources(slurm, job.number) for job in jobs if job.work.startswith("rule_data_")]
    assert len(asked) == 2
    for each in asked:
        assert "MinMemoryNode=1500M" in each
        assert "TimeLimit=00:30:00" in each
    assert {"C1", "C2", "C3"} <= {line.split(":")[0] for line in run.splitlines()}
    assert show == (tmp_path / "results/example/verdicts.md").read_text()


def test_other_schedulers_give_the_same_bytes(cluster_project: ClusterProject):
    """The profile that only knows how to submit, ask and cancel."""
    profile = ("--workflow-profile", "profiles/cluster-generic")
    sooner = ("--seconds-between-status-checks", "1", "--latency-wait", "10")
    Run(cluster_project, FIGURE, *profile, *sooner, quick=True).succeed()
    assert cluster_project.files("results", "figures") == small_results()
    assert rules(cluster_project.slurm.jobs(cluster_project.folder)) == RULES


@pytest.mark.parametrize("profile", ["slurm", "cluster-generic"])
def test_a_verification_runs_on_a_cluster(cluster_project: ClusterProject, profile: str):
    """Everything of the template from nothing, equal to the reference that one machine made."""
    cluster_project.run("reference", "--config", "study=example", quick=False)
    output = cluster_project.program(
        *("replication.verify.command", "--study", "example", "--level", "full"),
        *("--workflow-profile", f"profiles/{profile}"),
    )
    assert "Equal to the reference: 2 figures, 3 verdicts, 15 fingerprints of runs." in output
    results = cluster_project.folder / "results"
    assert not list(results.glob("verify-*")), "it has tidied up"
    table = cluster_project.slurm.ask("squeue", "--noheader", "--states=all", "--format=%T|%Z")
    states = [line.split("|")[0] for line in table.splitlines() if f"{results}/verify-" in line]
    assert len(states) > 10
    assert set(states) == {"COMPLETED"}


def test_training_on_a_gpu_asks_for_one(cluster_project: ClusterProject):
    """The job is refused by PyTorch where there is none, but Slurm has given it one."""
    overlay = cluster_project.folder / "gpu.yaml"
    overlay.write_text("computation: {device: cuda}\n")
    runs = "results/scan_and_snap/runs/syn_medium/1.npz"
    profile = ("--workflow-profile", "profiles/slurm", "--retries", "0")
    on_gpu = ("--configfile", "config/quick.yaml", "gpu.yaml")
    run = Run(cluster_project, runs, *profile, *SOONER, *on_gpu, quick=False)
    run.process.wait()
    drawn, trained = cluster_project.slurm.jobs(cluster_project.folder)
    assert "gres:gpu" not in resources(cluster_project.slurm, drawn.number)
    assert "TresPerJob=gres:gpu:1" in resources(cluster_project.slurm, trained.number)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("fault", [controller_killed, slurm_lost])
def test_a_fault_costs_nothing(project: Project, fault: Fault):
    """Two of those that `make faults` injects."""
    outcome = fault(project)
    assert outcome.injected == 1
    assert (outcome.lost, outcome.duplicated, outcome.corrupt) == (0, 0, 0), outcome


def rules(jobs) -> dict[str, int]:
    names = [
        rule for job in jobs for rule in RULES if re.match(f"rule_{rule}(_wildcards|$)", job.work)
    ]
    return {rule: names.count(rule) for rule in RULES}


def resources(slurm: Slurm, number: str) -> str:
    return slurm.ask("scontrol", "show", "job", number)
