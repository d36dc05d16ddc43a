"""Every setting of training acts on what it is of."""

import pytest
from small_runs import DEVIATION, PROBE, UPDATES, job, trained

from replication.plan.configuration import Computation, configure
from replication.study.studies import find_studies
from transformer_dynamics.lp_ft import study

pytestmark = pytest.mark.numerical
STUDIES = {"lp_ft": find_studies()["lp_ft"]}
SHORT = {"epochs": None, "steps": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("small")


def ended(folder, kind="adamw", **updates):
    """The head after four steps of fine-tuning."""
    chosen = job("ft", optimiser={"kind": kind}, schedule=SHORT, updates=updates)
    return trained(folder, chosen)["weight"]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("adamw", {"dropout": 0.5}),
        ("adamw", {"weight_decay": 0.5}),
        ("sgd", {"weight_decay": 0.5}),
        ("adamw", {"betas": [0.5, 0.999]}),
        ("adamw", {"betas": [0.9, 0.9]}),
        ("adamw", {"epsilon": 1e-2}),
        ("sgd", {"momentum": 0.9}),
        ("adamw", {"warm_up": 0.5}),
        ("adamw", {"decay": "constant"}),
    ],
)
def test_another_value_trains_another_head(folder, kind, changes):
    assert (ended(folder, kind, **changes) != ended(folder, kind)).any()


def test_dropout_is_the_published_one_if_none_is_given(folder):
    assert ended(folder, dropout=0.1).tobytes() == ended(folder).tobytes()


def test_the_random_head_has_the_deviation_that_is_given(folder):
    given = job("lp").model_copy(update={"head_deviation": 3 * DEVIATION})
    one, other = (trained(folder, each)["random_weight"] for each in (job("lp"), given))
    assert other == pytest.approx(3 * one, rel=1e-6)


def test_a_probe_is_as_near_its_optimum_as_is_asked(folder):
    loose = PROBE.model_copy(update={"tolerance": 1e-2})
    rough = trained(folder, job("lp").model_copy(update={"probe": loose}))
    fine = trained(folder, job("lp"))
    assert fine["gradient"][0] <= PROBE.tolerance < rough["gradient"][0] <= loose.tolerance


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [1, 0.8, 0.6, 0.4, 0.2]),
        ({"decay": "constant"}, [1, 1, 1, 1, 1]),
        ({"warm_up": 0.4}, [0.5, 1, 1, 2 / 3, 1 / 3]),
        ({"warm_up": 0.59, "decay": "constant"}, [0.5, 1, 1, 1, 1]),
    ],
)
def test_the_rate_by_step(changes, expected):
    updates = UPDATES.model_copy(update=changes)
    assert [updates.rate_factor(step, 5) for step in range(5)] == pytest.approx(expected, rel=1e-12)


def experiments(**changes):
    return study.experiments(configure({"lp_ft": changes}, STUDIES).section("lp_ft"), Computation())


def jobs(**changes):
    """What trains, by name."""
    found = experiments(**changes)
    return {f"{name} {run}": job for name, each in found.items() for run, job in each.runs.items()}


def test_jobs_are_given_what_acts_on_them_and_nothing_else():
    before = jobs()

    def changed(**changes):
        after = jobs(**changes)
        return {name for name, job in after.items() if job.settings != before[name].settings}

    steps = {name for name, job in before.items() if getattr(job.settings, "tuning", None)}
    for key, value in (("dropout", 0.2), ("weight_decay", 0.1), ("betas", [0.5, 0.9]),
                       ("epsilon", 1.0), ("momentum", 0.9), ("warm_up", 0.1),
                       ("decay", "constant")):  # fmt: skip
        assert changed(training={key: value}) == steps, key
    assert changed(training={"head_deviation": 1.0}) == {*before}
    assert changed(probe={"tolerance": 1e-3}) == {*before}
    assert any(name.startswith("kernels_") for name in before)


@pytest.mark.parametrize(
    ("key", "value", "metrics"),
    [
        ("ridge", 1.0, {"features"}),
        ("bins", 9, {"calibration"}),
        ("resamples", 9, {"calibration"}),
        ("rank_tolerance", 0.1, {"kernel_sizes", "kernel_spectra"}),
        ("long_probe", 3, {"head_control"}),
    ],
)
def test_tables_are_given_what_acts_on_them_and_nothing_else(key, value, metrics):
    before, after = experiments(), experiments(metrics={key: value})
    assert {
        metric
        for name, each in after.items()
        for metric, job in each.metrics.items()
        if job.settings != before[name].metrics[metric].settings
    } == metrics
    assert all(each.runs == before[name].runs for name, each in after.items())
