"""Faults of a cluster: each is injected into a run of Figure 6, small, and its cost is counted."""

import os
import signal
import time
from collections.abc import Callable
from functools import wraps

import psutil
from conftest import Project
from faults.outcome import Fault, Outcome

from cluster.daemons import Job, running_slurm, wait_until, why_not
from cluster.runs import FIGURE, ClusterProject, Run, small_results

RUNS = "results/scan_and_snap/runs/"
"""What a program that trains makes."""
WHERE = f"Slurm, {FIGURE}, small"
ONE_AT_A_TIME = ("--set-resources", "data:mem_mb=9000")
"""Options under which one of the first two jobs must wait on the node of the tests."""


def on_slurm(fault: Callable[[ClusterProject], Outcome]) -> Fault:
    """Give a fault a Slurm of its own."""

    @wraps(fault)
    def run(project: Project) -> Outcome:
        with running_slurm() as slurm:
            return fault(ClusterProject(project, slurm))

    return run


@on_slurm
def job_cancelled(project: ClusterProject) -> Outcome:
    """A job is cancelled while it trains."""
    run = project.submit()
    job = training_job(project)
    project.slurm.ask("scancel", job.number)
    return outlived("scancel of a job", project, run, job, "CANCELLED")


@on_slurm
def job_out_of_time(project: ClusterProject) -> Outcome:
    """A job hangs until its time is over."""
    run = project.submit("--set-resources", "runs:runtime=1")
    job = training_job(project, signal.SIGSTOP)
    return outlived("a hanging job reaches its time limit", project, run, job, "TIMEOUT")


@on_slurm
def job_out_of_memory(project: ClusterProject) -> Outcome:
    """All jobs that train ask for too little memory at first."""
    memory = "runs:mem_mb=150 + 1850 * (attempt - 1)"
    run = project.submit("--set-resources", memory)
    wait_until(lambda: of_rule(project, "runs"), "training is submitted")
    job = of_rule(project, "runs")[0]
    return outlived("jobs reach their memory limit", project, run, job, "FAILED")


@on_slurm
def node_lost(project: ClusterProject) -> Outcome:
    """The node loses its power while jobs run, and comes back a while later."""
    run = project.submit()
    job = training_job(project)
    project.slurm.kill_node()
    began = time.monotonic()
    wait_until(lambda: state(project, job) == "PENDING", "the job is queued anew")
    project.slurm.start_node()
    wait_until(lambda: state(project, job) in {"RUNNING", "COMPLETED"}, "the job runs")
    recovery = time.monotonic() - began
    run.succeed()
    return outcome("the node dies with its jobs", project, recovery)


@on_slurm
def slurm_lost(project: ClusterProject) -> Outcome:
    """Slurm's controller dies while jobs run and is away longer than any question is repeated."""
    run = project.submit()
    training_job(project)
    project.slurm.kill_controller()
    began = time.monotonic()
    wait_until(lambda: "Slurm does not answer" in run.text, "Snakemake notices")
    project.slurm.start_controller()
    wait_until(lambda: project.slurm.jobs(project.folder), "Slurm answers")
    recovery = time.monotonic() - began
    run.succeed()
    return outcome("Slurm's controller dies and returns", project, recovery)


@on_slurm
def controller_interrupted(project: ClusterProject) -> Outcome:
    """Ctrl-C to Snakemake with jobs running and queued; the same command again."""
    run = project.submit(*ONE_AT_A_TIME)
    running_and_queued(project)
    run.stop(signal.SIGINT)
    wait_until(lambda: not waiting(project), "the jobs are cancelled")
    return resumed("SIGINT of Snakemake", project, time.monotonic())


@on_slurm
def controller_killed(project: ClusterProject) -> Outcome:
    """SIGKILL to Snakemake with jobs running and queued; wait, unlock, the same command again."""
    run = project.submit(*ONE_AT_A_TIME)
    running_and_queued(project)
    run.stop(signal.SIGKILL)
    before = project.slurm.jobs(project.folder)
    project.run("--unlock")
    refused = project.submit().fail()
    assert "jobs of an earlier run are still in Slurm's queue" in refused
    assert "Traceback" not in refused
    assert [job.number for job in project.slurm.jobs(project.folder)] == [
        job.number for job in before
    ]
    began = time.monotonic()
    wait_until(lambda: not waiting(project), "the jobs that were left are done")
    return resumed("SIGKILL of Snakemake", project, began)


def training_job(project: ClusterProject, number: signal.Signals | None = None) -> Job:
    """Wait for a job whose training program runs; send the program a signal."""
    found: list[psutil.Process] = []

    def runs() -> bool:
        process = project.slurm.program(RUNS)
        found.extend([process] if process else [])
        return bool(process)

    wait_until(runs, "a job trains")
    identity = found[0].environ()["SLURM_JOB_ID"]
    if number:
        os.kill(found[0].pid, number)
    return next(job for job in project.slurm.jobs(project.folder) if job.number == identity)


def of_rule(project: ClusterProject, rule: str) -> list[Job]:
    """The jobs of a rule."""
    jobs = project.slurm.jobs(project.folder)
    return [job for job in jobs if job.work.startswith(f"rule_{rule}_")]


def state(project: ClusterProject, job: Job) -> str:
    """What Slurm says of a job now."""
    jobs = project.slurm.jobs(project.folder)
    return next(found.state for found in jobs if found.number == job.number)


def waiting(project: ClusterProject) -> list[Job]:
    """The jobs that are not over."""
    active = {"PENDING", "RUNNING", "COMPLETING"}
    return [job for job in project.slurm.jobs(project.folder) if job.state in active]


def running_and_queued(project: ClusterProject) -> None:
    """Wait until some jobs run while others wait."""

    def both() -> bool:
        states = {job.state for job in project.slurm.jobs(project.folder)}
        return {"RUNNING", "PENDING"} <= states

    wait_until(both, "some jobs run and others wait")


def outlived(
    fault: str,
    project: ClusterProject,
    run: Run,
    job: Job,
    end: str,
) -> Outcome:
    """The job must end in a state, be submitted anew, and the run must succeed."""
    wait_until(lambda: state(project, job) == end, f"the job is {end}")
    began = time.monotonic()

    def again() -> bool:
        jobs = project.slurm.jobs(project.folder)
        return any(other.work == job.work and other.number != job.number for other in jobs)

    wait_until(again, "the job is submitted anew")
    recovery = time.monotonic() - began
    run.succeed()
    injected = sum(other.state == end for other in project.slurm.jobs(project.folder))
    return outcome(fault, project, recovery, injected)


def resumed(fault: str, project: ClusterProject, began: float) -> Outcome:
    """The same command must go on where the stopped one was."""
    before = len(project.slurm.jobs(project.folder))
    run = project.submit()
    wait_until(lambda: len(project.slurm.jobs(project.folder)) > before, "it goes on")
    recovery = time.monotonic() - began
    run.succeed()
    return outcome(fault, project, recovery)


def outcome(
    fault: str,
    project: ClusterProject,
    recovery: float,
    injected: int = 1,
) -> Outcome:
    """Count what the fault did to the results of a run that has finished."""
    expected, found = small_results(), project.files("results", "figures")
    return Outcome(
        fault=fault,
        where=WHERE,
        injected=injected,
        lost=len(expected.keys() - found.keys()),
        duplicated=sum(times - 1 for times in project.executions().values()),
        corrupt=sum(expected.get(path) != content for path, content in found.items()),
        recovery_seconds=recovery,
    )


FAULTS: tuple[Fault, ...] = (
    ()
    if why_not()
    else (
        controller_killed,
        controller_interrupted,
        job_cancelled,
        job_out_of_time,
        job_out_of_memory,
        node_lost,
        slurm_lost,
    )
)
"""Those of a cluster, where one can be brought up."""
