"""What training costs, and where it is refused."""

import pytest

from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.plan.configuration import Computation, configure
from replication.plan.cost import (
    CORE,
    DAY,
    MOST_DAYS,
    REST,
    cost_rows,
    costs,
    refuse_without_gpu,
)
from replication.plan.jobs import Jobs, record_name
from replication.plan.recorded_times import SUFFIX, Records
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


def test_costs_sum_up_what_is_recorded_of_every_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = find_studies()
    study = Jobs.of(configure({}, {"example": found["example"]}), {"example": found["example"]})
    runs = [*study.studies["example"].experiments["replication"].runs]
    first, *others = (f"logs/example/runs/replication/{run}" for run in runs)
    example = study.studies["example"]
    metrics = {name for experiment, name in example.metrics_read if experiment == "replication"}
    # Nothing but a reference reads a fingerprint, and no figure shows this experiment's error.
    assert {*example.experiments["replication"].metrics} - metrics == {"error", "fingerprint"}
    measured = {f"logs/example/metrics/replication/{name}": 30.0 for name in metrics}
    seconds = measured | {
        first: 60.0,
        "logs/example/metrics/replication/fingerprint": 600.0,
        "logs/example/data/x": 6.0,
        "logs/figures/example/fig1.svg": 6.0,
    }
    here = tmp_path / f"{first}{SUFFIX}"
    here.parent.mkdir(parents=True)
    here.write_text("s\tcpu_time\n50\t7.5\n")
    rows = costs(study.studies["example"], Records(seconds, {first: 512.0}))
    by_name = {row.what: row for row in rows}
    replication = by_name["replication"]
    # The run that was measured here counts as recorded, those that are not as the one beside them.
    assert replication.minutes == len(runs) + len(measured) / 2
    assert (replication.runs, replication.unknown, replication.mib) == (len(runs), 0, 512.0)
    assert replication.foreseen == len(others), "runs that are not recorded"
    printed = study.studies["example"].experiments["printed"]
    shown = {name for experiment, name in example.metrics_read if experiment == "printed"}
    assert "fingerprint" not in shown
    assert by_name["printed"].unknown == len(printed.runs) + len(shown)
    # No job of the study makes these data.
    assert by_name[REST].minutes == pytest.approx(0.1)
    assert rows[-1].minutes == pytest.approx(replication.minutes + 0.1)
    assert cost_rows(rows)[0] == ("printed", "1", "2 jobs not recorded", "", "not recorded")
    assert cost_rows([replication])[0][2:] == (
        f"{replication.minutes:.1f}",
        f"{len(others):.1f}",
        "0.5",
    )


def test_data_without_a_record_take_as_long_as_others():
    found = find_studies()
    study = Jobs.of(configure({}, found), {"lp_ft": found["lp_ft"]}).studies["lp_ft"]
    data = {name for each in study.experiments.values() for name in each.data}
    recorded = {"logs/lp_ft/data/tokens-cr": 60.0, "logs/lp_ft/data/no_such_data": 60.0}
    rest = {row.what: row for row in costs(study, Records(recorded))}[REST]
    assert rest.minutes == len(data)
    assert rest.foreseen == len(data) - 1


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


def test_variants_of_an_experiment_are_one_row():
    found = find_studies()
    study = Jobs.of(configure({}, found), found).studies["scan_and_snap"]
    names = [row.what for row in costs(study, Records())]
    assert "variants of fig6_replication" in names
    assert not [name for name in names if "-" in name]
