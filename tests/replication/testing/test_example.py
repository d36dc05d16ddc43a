"""The template: its mathematics, its verdicts, and that these follow from what is measured."""

import json

import numpy as np
import pandas as pd
import pytest

from replication.base.errors import InputError
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.contract import Measured, Run
from replication.study.studies import find_studies
from replication.testing.small import Small
from transformer_dynamics.example.claims.learning import last_over_first, over_twice_the_variance
from transformer_dynamics.example.data import sample
from transformer_dynamics.example.metrics import measure
from transformer_dynamics.example.settings import MetricJob, SampleJob, TrainJob
from transformer_dynamics.example.training import train

PROBLEM = SampleJob(variances=[1.0, 0.25], samples=50, noise=0.1)
TRAINING = TrainJob(problem=PROBLEM, learning_rate=0.1, updates=40)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    return Small.compute(find_studies()["example"], tmp_path_factory.mktemp("example"))


def test_descent_follows_its_closed_form():
    """w(t) = (1 - (1 - eta A)^t) A^-1 b with A = X^T X / N and b = X^T y / N."""
    data = sample(PROBLEM, [3, 4], [])
    found = train(TRAINING, [3, 4], [data], None)["weights"]
    for seed in range(2):
        x, y = data["inputs"][seed], data["targets"][seed]
        a, b = x.T @ x / len(x), x.T @ y / len(x)
        for update in (0, 1, 40):
            left = np.linalg.matrix_power(np.eye(2) - 0.1 * a, update)
            expected = (np.eye(2) - left) @ np.linalg.solve(a, b)
            np.testing.assert_allclose(found[seed, update], expected, rtol=1e-12)


def test_verdicts_are_those_that_the_readme_states(computed):
    verdicts = {
        claim: json.loads((computed.folder / path).read_text())["verdict"]
        for claim, path in computed.parts.files.verdicts.items()
    }
    assert verdicts == {"C1": "reproduced", "C2": "replicated", "C3": "does not hold"}
    readme = (computed.study.folder / "README.md").read_text()
    assert all(f"*{verdict}*" in readme for verdict in verdicts.values())


@pytest.mark.parametrize(
    ("half_lives", "expected"),
    [
        ([10, 20, 40, 80], ("replicated", "does not hold")),
        ([10] * 4, ("does not hold", "replicated")),
    ],
)
def test_verdicts_follow_what_is_measured(computed, half_lives, expected):
    """If all directions took the same time, the claims' verdicts would change places."""
    job = computed.parts.experiments["replication"].metrics["half_life"].settings
    variances = job.training.problem.variances
    noise = np.random.default_rng(1).normal(0, 0.5, (10, len(variances)))
    table = pd.DataFrame(noise + half_lives, pd.RangeIndex(101, 111, name="seed"), variances)
    long = table.melt(var_name="variance", value_name="half_life", ignore_index=False)
    measured = Measured(long.reset_index(), job)
    claims = {"C2": over_twice_the_variance, "C3": last_over_first}
    family = [
        Judged(name, computed.parts.claims[name].test, function(measured))
        for name, function in claims.items()
    ]
    assert tuple(verdict.verdict for verdict in judge(family).values()) == expected


def test_too_short_training_is_answered():
    job = MetricJob(training=TRAINING.model_copy(update={"updates": 5}), metric="half_life")
    data = sample(PROBLEM, [3], [])
    run = Run("3", [3], train(job.training, [3], [data], None))
    with pytest.raises(InputError, match="not half learned after 5 updates; do more"):
        measure(job, [run], [])
