"""Runs that diverged: sentences name experiment and seeds, and no claim takes what they say."""

import dataclasses
import importlib
from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import JOBS

from replication.base.errors import UnmeasurableError
from replication.judge.comparisons import without_diverged
from replication.judge.scorecard import read_verdict
from replication.plan.steps import StepsFile
from replication.plan.study_steps import study_steps
from replication.run import program as run
from replication.run.stages import make_output

METRIC = "results/example/metrics/printed/error.parquet"


@pytest.fixture
def computed(tmp_path, monkeypatch):
    """Orders that are run in an empty folder, in which a training of two seeds diverged."""
    monkeypatch.chdir(tmp_path)

    def compute(path):
        order = JOBS.ready(path)
        order = dataclasses.replace(order, gaps=("*",) if order.stage == "runs" else ())
        told = str(StepsFile([order], tmp_path))
        return CliRunner().invoke(run.main, [told])

    (runs,) = JOBS.steps[METRIC].reads
    training = importlib.import_module(JOBS.ready(runs).program)
    own = training.train

    def diverge(*given):
        found = own(*given)
        found["weights"][[1, 3], 5:] = np.nan
        return found

    monkeypatch.setattr(training, "train", wraps(own)(diverge))
    for path in (*JOBS.steps[runs].reads, runs):
        assert compute(path).exit_code == 0
    return compute


def test_a_decomposition_of_what_diverged_names_experiment_and_seeds(computed, monkeypatch):
    metrics = importlib.import_module(JOBS.ready(METRIC).program)

    def decompose(job, runs, data):
        return [np.linalg.svd(run.arrays["weights"]) for run in runs]

    monkeypatch.setattr(metrics, "measure", wraps(metrics.measure)(decompose))
    done = computed(METRIC)
    assert isinstance(done.exception, SystemExit), done.exception
    assert "error.parquet: a decomposition of a matrix fails (" in done.output
    assert "; experiment printed has runs that are not finite, of seed 2,4; lower" in done.output
    assert "or have the metric return NaN for such a seed" in done.output


def test_a_metric_may_be_not_finite(computed):
    assert computed(METRIC).exit_code == 0


def test_a_metric_that_refuses_what_diverged_names_experiment_and_seeds(computed):
    done = computed("results/example/metrics/printed/half_life.parquet")
    assert "do more; experiment printed has runs that are not finite, of seed 2,4" in done.output


VERDICT = "results/example/verdicts/C3.json"
RUNS, METRICS = "results/example/runs/replication/", "results/example/metrics/replication/"


def allowing(gaps):
    """The jobs of the example if its runs may have gaps."""
    study = JOBS.studies["example"]
    experiments = {
        name: each._replace(runs={run: job._replace(gaps=gaps) for run, job in each.runs.items()})
        for name, each in study.experiments.items()
    }
    changed = study_steps(dataclasses.replace(study, experiments=experiments))
    return dataclasses.replace(JOBS, steps=JOBS.steps | changed, _recipes={}, _keys={})


def judged(monkeypatch, diverging, gaps=()):
    """The verdict on a claim whose metric is finite for trainings that diverged, too."""
    (training,) = {JOBS.ready(path).program for path in JOBS.steps if path.startswith(RUNS)}
    (metric,) = {JOBS.ready(f"{METRICS}{name}.parquet").program for name in ("error", "half_life")}
    modules = [importlib.import_module(name) for name in (training, metric)]
    train, measure = modules[0].train, modules[1].measure

    def diverge(job, seeds, *rest):
        found = train(job, seeds, *rest)
        found["weights"][[seed in diverging for seed in seeds], 5:] = np.nan
        return found

    def measure_anyway(job, runs, data):
        """As an accuracy that takes the first class where nothing is known."""
        whole = [run._replace(arrays={"weights": filled(run.arrays["weights"])}) for run in runs]
        return measure(job, whole, data)

    def filled(weights):
        learned = 1 - 0.9 ** np.arange(weights.shape[1])
        return np.where(np.isfinite(weights), weights, learned[:, None])

    monkeypatch.setattr(modules[0], "train", wraps(train)(diverge))
    monkeypatch.setattr(modules[1], "measure", wraps(measure)(measure_anyway))
    jobs = allowing(gaps)
    needed = dict(jobs.closure([VERDICT]))
    for path in (path for path in jobs.steps if path in needed):
        make_output(jobs.ready(path))
    return read_verdict(Path(VERDICT))


@pytest.mark.parametrize("diverging", [(102, 104), tuple(range(101, 111))])
def test_no_claim_takes_what_a_metric_says_of_a_training_that_diverged(
    tmp_path, monkeypatch, diverging
):
    monkeypatch.chdir(tmp_path)
    verdict = judged(monkeypatch, diverging)
    seeds = "102,104" if len(diverging) == 2 else "101-110"
    assert verdict.verdict == "not tested"
    assert verdict.summary == (
        "'last over first' is not measured, as the training of seed"
        f" {seeds} diverged in experiment replication"
    )


def test_a_study_may_give_gaps_a_meaning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert judged(monkeypatch, (102, 104), ("weights",)).verdict != "not tested"


def test_evidence_is_made_anew_when_other_gaps_are_allowed():
    path, metric = "results/example/evidence/C3.parquet", f"{METRICS}half_life.parquet"
    jobs = allowing(("*",))
    assert JOBS.key(path) != jobs.key(path)
    assert JOBS.key(metric) == jobs.key(metric)
    figure = "figures/example/fig2.csv"
    assert JOBS.key(figure) == jobs.key(figure)


# A claim over a sweep: only comparisons of what diverged are lost


def evidence(cells):
    rows = [(cell, seed, value) for cell, values in cells.items() for seed, value in values.items()]
    return pd.DataFrame(rows, columns=["cell", "seed", "value"])


def test_a_comparison_that_takes_no_training_that_diverged_is_kept():
    whole = evidence({"small": {1: 1.0, 2: 2.0}, "large": {1: 3.0, 2: 4.0}})
    left = evidence({"small": {1: 1.0, 2: 2.0}, "large": {1: 3.0}})
    found = without_diverged(whole, left, {"large_rate": [2]})
    assert found["diverged"].tolist() == ["", "", "", "large_rate"]
    assert found["value"].isna().tolist() == [False, False, False, True]
    assert without_diverged(whole, whole, {"large_rate": [2]}) is whole


def test_a_mean_over_experiments_is_lost_with_one_of_them():
    whole, left = evidence({"a": {1: 1.0, 2: 2.0}}), evidence({"a": {1: 1.0, 2: 2.5}})
    found = without_diverged(whole, left, {"large_rate": [2]})
    assert found["value"].isna().tolist() == [False, True]


def test_without_evidence_of_the_rest_every_number_of_a_seed_that_diverged_is_lost():
    whole = evidence({"small": {1: 1.0, 2: 2.0}, "large": {1: 3.0, 2: 4.0}})
    found = without_diverged(whole, None, {"large_rate": [2], "other": [2]})
    assert found["diverged"].tolist() == ["", "large_rate and other"] * 2


def test_a_number_of_no_seed_is_not_measured():
    whole = evidence({"a": {1: 1.0}}).drop(columns="seed")
    for left in (whole.assign(value=2.0), None):
        with pytest.raises(UnmeasurableError, match="seed 2,4 diverged in experiment large_rate"):
            without_diverged(whole, left, {"large_rate": [2, 4]})
