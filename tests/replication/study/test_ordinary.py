"""An ordinary study: its jobs, one seed of them, and the fingerprint of a run."""

import hashlib
from random import Random
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from replication.base.strict import Strict
from replication.study.contract import Job, MetricOf, Run, Seeded, StudySettings
from replication.study.fingerprint import measure
from replication.study.studies import Study


class Problem(Strict):
    """Data."""

    samples: int
    """Number of points."""


class Training(Strict):
    """A training."""

    problem: Problem
    """Data."""
    rate: float
    """Learning rate."""


class Settings(StudySettings):
    """A section of the configuration."""

    experiments: dict[str, Seeded[Training]]
    """The experiments."""


TRAINING = {"problem": {"samples": 7}, "rate": 0.1}
SETTINGS = Settings.parse(
    {"experiments": {"slow": {"seeds": {"first": 3, "count": 3}, "training": TRAINING}}}, ""
)
BY_TWO = SimpleNamespace(seeds_per_job=2)


def study(**constants):
    module = ModuleType("papers.mine.study")
    vars(module).update(Settings=Settings, METRICS=("error",), __file__="study.py", **constants)
    return Study("mine", module)


def test_every_batch_of_seeds_is_drawn_and_trained_and_every_metric_measured():
    (made,) = study(DATA="problem").experiments(SETTINGS, BY_TWO).values()
    training = SETTINGS.experiments["slow"].training
    assert made.data == {
        "slow/3-4": Job("data", training.problem, (3, 4)),
        "slow/5": Job("data", training.problem, (5,)),
    }
    assert made.runs == {
        "3-4": Job("training", training, (3, 4), ("slow/3-4",)),
        "5": Job("training", training, (5,), ("slow/5",)),
    }
    assert list(made.metrics) == ["error", "fingerprint"]
    assert made.metrics["error"] == Job(
        "metrics", MetricOf[Training](training=training, metric="error")
    )
    assert made.metrics["error"].settings.model_dump() == {"training": TRAINING, "metric": "error"}


def test_arrays_of_a_training_that_may_diverge_are_named():
    (made,) = study(GAPS=("losses",)).experiments(SETTINGS, BY_TWO).values()
    assert {job.gaps for job in made.runs.values()} == {("losses",)}


def test_a_training_may_need_no_data():
    (made,) = study().experiments(SETTINGS, BY_TWO).values()
    assert not made.data
    assert {job.reads for job in made.runs.values()} == {()}


def test_data_may_read_files():
    (made,) = study(DATA="problem", SOURCES=("texts.txt",)).experiments(SETTINGS, BY_TWO).values()
    assert {job.reads for job in made.data.values()} == {("texts.txt",)}


def test_one_seed_is_one_of_the_experiment():
    drawn = [study().one_seed(SETTINGS, Random(draw)) for draw in range(20)]
    left = [each["experiments"]["slow"]["seeds"] for each in drawn]
    assert {each["first"] for each in left} == {3, 4, 5}
    assert {each["count"] for each in left} == {1}


def test_functions_of_a_study_come_before_those_of_the_engine():
    own = study(experiments=lambda *_: {}, one_seed=lambda *_: {"mine": 1})
    assert own.experiments(SETTINGS, BY_TWO) == {}
    assert own.one_seed(SETTINGS, Random(0)) == {"mine": 1}


ARRAYS = {
    "weights": np.array([[[9.0, 9], [3, 4]], [[9, 9], [6, 8]]]),
    "loss": np.array([[5, 12.0], [5, 24]], np.float32),
    "steps": np.array([84, 0]),
}


def test_a_fingerprint_has_all_bits_and_the_last_values():
    found = measure(Strict(), [Run("1-2", [1, 2], ARRAYS)], [])
    assert list(found) == ["seed", "digest", "norm", "loss"]
    assert list(found["norm"]) == [np.sqrt(9 + 16 + 144 + 84**2), np.sqrt(36 + 64 + 24**2)]
    assert list(found["loss"]) == [12, 24]
    bits = b"".join(ARRAYS[name][1].tobytes() for name in ("loss", "steps", "weights"))
    assert found["digest"][1] == hashlib.sha256(bits).hexdigest()[:16]


@pytest.mark.parametrize("name", ARRAYS)
def test_every_bit_changes_the_digest_of_its_seed_alone(name):
    other = {key: values.copy() for key, values in ARRAYS.items()}
    other[name][1, ...] += other[name][1, ...] == other[name][1].flat[0]
    before, after = (measure(Strict(), [Run("", [1, 2], it)], []) for it in (ARRAYS, other))
    assert list(before["digest"] == after["digest"]) == [True, False]


def test_what_diverged_has_a_fingerprint():
    arrays = {"loss": np.array([[1, np.nan], [1, 2]])}
    assert measure(Strict(), [Run("", [1, 2], arrays)], [])["norm"].isna().tolist() == [True, False]
