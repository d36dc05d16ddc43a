"""What training costs, and where it is refused."""

import pytest

from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.plan.configuration import Computation, configure
from replication.plan.costs import Costs, Records, record_name
from replication.plan.jobs import Jobs
from replication.plan.limits import CORE, DAY, MOST_DAYS, refuse_without_gpu
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
    behind = {job.path: job for job in Costs(jobs, Records({first: 60.0})).of_study("example")}
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
