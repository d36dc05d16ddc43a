"""A metric of runs that diverged: a sentence that names the experiment and the seeds."""

import importlib
from functools import wraps

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import JOBS

from replication.plan.orders import DocumentFile, Orders
from replication.run import program as run

METRIC = "results/example/metrics/printed/error.parquet"


@pytest.fixture
def computed(tmp_path, monkeypatch):
    """Orders that are run in an empty folder, in which a training of two seeds diverged."""
    monkeypatch.chdir(tmp_path)

    def compute(path):
        order = JOBS.order(path)
        order = order.model_copy(update={"gaps": ["*"] if order.stage == "runs" else []})
        told = str(DocumentFile(Orders(orders=[order]).to_json(), tmp_path))
        return CliRunner().invoke(run.main, ["--job", told, path, *JOBS.tasks[path].reads])

    (runs,) = JOBS.tasks[METRIC].reads
    training = importlib.import_module(JOBS.order(runs).program)
    own = training.train

    def diverge(*given):
        found = own(*given)
        found["weights"][[1, 3], 5:] = np.nan
        return found

    monkeypatch.setattr(training, "train", wraps(own)(diverge))
    for path in (*JOBS.tasks[runs].reads, runs):
        assert compute(path).exit_code == 0
    return compute


def test_a_decomposition_of_what_diverged_names_experiment_and_seeds(computed, monkeypatch):
    metrics = importlib.import_module(JOBS.order(METRIC).program)

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
