"""Figure 6 on a real Slurm: through both profiles, the same bytes as on one machine."""

import re

import pytest
from conftest import Project
from faults.outcome import Fault

from cluster.daemons import Slurm
from cluster.faults import controller_killed, slurm_lost
from cluster.runs import FIGURE, SOONER, ClusterProject, Run, small_results

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
        *("replication.verify.levels", "--study", "example", "--level", "full"),
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
