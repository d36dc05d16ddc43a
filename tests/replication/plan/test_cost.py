"""What training costs, and where it is refused."""

import pytest

from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.plan.configuration import Computation, configure
from replication.plan.cost import cost_of_study
from replication.plan.jobs import Jobs
from replication.plan.limits import CORE, DAY, MOST_DAYS, refuse_without_gpu
from replication.plan.times import Records, record_name
from replication.study.contract import Experiment, Job
from replication.study.studies import find_studies


def experiment(days):
    """Of a run and a metric; its data are those of all others."""
    job = Job("runs", Strict(), operations=days * DAY * CORE)
    data = Job("data", Strict(), operations=MOST_DAYS / 2 * DAY * CORE)
    return Experiment(runs={"one": job}, metrics={"other": job}, data={"shared": data})


def test_training_of_many_days_needs_a_gpu():
    few, many = experiment(MOST_DAYS / 8), experiment(MOST_DAYS)
    refuse_without_gpu("study", [few, few], Computation())
    told = r"^study: training would take one core about 275 days, .* device: cuda where there is a"
    with pytest.raises(InputError, match=told):
        refuse_without_gpu("study", [many, few], Computation())
    refuse_without_gpu("study", [many, few], Computation(device="cuda"))


def test_the_cost_of_a_study_is_that_of_all_jobs_that_it_makes():
    found = find_studies()
    jobs = Jobs.of(configure({}, {"example": found["example"]}), {"example": found["example"]})
    study = jobs.studies["example"]
    first, *others = (f"logs/example/runs/replication/{run}" for run in runs_of(study))
    behind = {job.path: job for job in cost_of_study(jobs, "example", Records({first: 60.0}))}
    stages = {path.split("/")[2] for path in behind if path.startswith("results")}
    assert stages == {"data", "runs", "metrics", "evidence", "verdicts"}
    assert {path for path in behind if path.startswith("figures")} == {
        f"figures/example/{name}{ending}"
        for name in ("fig1", "fig2", "scorecard")
        for ending in (".csv", "")
    }
    assert not [path for path in behind if "fingerprint" in path], (
        "nothing but a reference reads it"
    )
    known = {path: job.seconds for path, job in behind.items() if job.seconds is not None}
    assert len(known) == 1 + len(others), "what is not recorded takes as long as a run beside it"
    assert {*known.values()} == {60.0}
    assert len(behind) == len({record_name(path, jobs.steps[path]) for path in behind})


def runs_of(study):
    return study.experiments["replication"].runs


def test_the_longest_chain_is_data_then_a_run_then_its_metric():
    found = find_studies()
    jobs = Jobs.of(configure({}, found), {"lp_ft": found["lp_ft"]})
    study, first = jobs.studies["lp_ft"], "lp_ft/runs/head_control_cr/1"
    seconds = {
        "logs/lp_ft/data/tokens-cr": 5.0,
        "logs/lp_ft/data/features-cr-1": 7.0,
        f"logs/{first}": 20.0,
        "logs/lp_ft/runs/head_control_cr/2": 25.0,
        "logs/lp_ft/metrics/head_control_cr/fingerprint": 3.0,
    }
    records = Records(seconds | dict.fromkeys(missing(jobs, study, seconds), 0.0))
    run, metric = f"results/{first}.npz", study.metric("head_control_cr", "fingerprint")
    assert jobs.longest_chain([run], records) == 7 + 20
    assert jobs.longest_chain([metric], records) == 5 + 25 + 3
    assert sum(jobs.seconds_of([metric], records)) == sum(seconds.values())
    assert jobs.longest_chain([], records) == 0


def missing(jobs, study, seconds):
    """Names of the jobs behind a fingerprint that have no record."""
    metric = study.metric("head_control_cr", "fingerprint")
    names = {record_name(path, task) for path, task in jobs.closure([metric])}
    return names - {*seconds}
