"""Metrics of runs against their formulas, written out."""

import math
from itertools import combinations

import numpy as np
import pytest
from small_runs import job, metric_data, trained, tuning

from replication.study.contract import Run
from transformer_dynamics.encoders.calibration import temperature
from transformer_dynamics.lp_ft.metrics.runs import (
    accuracy,
    calibration,
    delta,
    features,
    fingerprint,
    head_rows,
    norm,
    validation,
)
from transformer_dynamics.lp_ft.metrics.runs.features import (
    Scatter,
    cosine_similarity,
    difference,
    noise_floor,
)
from transformer_dynamics.lp_ft.settings.labels import RUN_COLUMNS
from transformer_dynamics.lp_ft.settings.metrics import (
    CalibrationMetricJob,
    FeatureMetricJob,
    MetricJob,
)

pytestmark = pytest.mark.numerical
ARM = [*RUN_COLUMNS]
METHODS = ("lp", "ft", "lp_ft")
RIDGE, BINS, RESAMPLES = 0.01, 15, 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def jobs():
    made = {method: job(method, "cr", ["sst2_sentences"]) for method in METHODS}
    return MetricJob(runs=made, sets=["cr", "sst2_sentences"])


@pytest.fixture(scope="module")
def runs(folder, jobs):
    return [
        Run(f"{method}-{seed}", [seed], trained(folder, jobs.runs[method], seed))
        for method in METHODS
        for seed in (1, 2)
    ]


@pytest.fixture(scope="module")
def data(folder, jobs):
    return metric_data(folder, jobs, [1, 2])


def row(table, **values):
    for name, value in values.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def features_job(jobs, ridge=RIDGE):
    return FeatureMetricJob(**dict(jobs), ridge=ridge)


def calibration_job(jobs, **changes):
    return CalibrationMetricJob(**dict(jobs) | {"bins": BINS, "resamples": RESAMPLES} | changes)


def random_features(number=9, width=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(number, width)) + 1, random.integers(0, 3, number)


def test_similarity_is_the_mean_cosine_over_pairs():
    phi, _ = random_features()
    cosines = [a @ b / math.sqrt((a @ a) * (b @ b)) for a, b in combinations(phi, 2)]
    assert cosine_similarity(phi) == pytest.approx(sum(cosines) / len(cosines), rel=1e-12)


def test_difference_is_a_mean_length():
    phi, _ = random_features()
    moved = phi + np.outer(np.arange(9), [0, 3, 0, 4])
    assert difference(moved, phi) == pytest.approx(5 * np.arange(9).mean(), rel=1e-12)


def test_scatter_and_discriminant_ratio():
    phi, labels = random_features(30)
    between, within = np.zeros((4, 4)), np.zeros((4, 4))
    for label in range(3):
        own = phi[labels == label]
        apart = own.mean(0) - phi.mean(0)
        between += len(own) * np.outer(apart, apart)
        for each in own:
            within += np.outer(each - own.mean(0), each - own.mean(0))
    found = Scatter.of_features(phi, labels)
    assert found.between == pytest.approx(between, rel=1e-12)
    assert found.within == pytest.approx(within, rel=1e-12)
    regular = within + RIDGE * np.trace(within) / 4 * np.eye(4)
    expected = np.trace(np.linalg.inv(regular) @ between)
    assert found.discriminant_ratio(RIDGE) == pytest.approx(expected, rel=1e-10)
    # Lengths do not matter, directions neither.
    turned, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    again = Scatter.of_features(7 * phi @ turned, labels)
    assert again.discriminant_ratio(RIDGE) == pytest.approx(expected, rel=1e-10)


def test_the_noise_floor_is_that_of_noise():
    random, ratios = np.random.default_rng(0), []
    for _ in range(300):
        labels = np.arange(60) % 3
        found = Scatter.of_features(random.normal(size=(60, 10)), labels)
        ratios.append(np.trace(np.linalg.solve(found.within, found.between)))
    floor = noise_floor(60, 10, 3)
    assert floor == 2 * 10 / (60 - 3 - 10 - 1)
    error = np.std(ratios) / math.sqrt(300)
    assert np.mean(ratios) == pytest.approx(floor, abs=4 * error)
    assert math.isnan(noise_floor(14, 10, 3))


def test_features_of_every_test_set(jobs, runs, data):
    table = features.measure(features_job(jobs), runs, data)
    assert [*table.columns[: len(ARM)]] == ARM
    assert len(table) == len(runs) * 2
    for run in runs:
        method, _, seed = run.name.partition("-")
        for split, known in (("test", data), ("sst2_sentences", data[2:])):
            found = row(table, method=method, seed=int(seed), split=split)
            phi, labels = run.arrays[f"{split}_features"][0], known[0]["test_labels"]
            before = known[1]["test_features"]
            assert found["samples"] == len(labels)
            moved = np.sqrt(((phi.astype(float) - before) ** 2).sum(1)).mean()
            assert found["difference"] == pytest.approx(moved, rel=1e-6)
            assert found["cosine_similarity"] == cosine_similarity(phi)
            assert found["discriminant_ratio"] == Scatter.of_features(
                phi, labels
            ).discriminant_ratio(RIDGE)
            expected = math.sqrt((run.arrays["weight"].astype(float) ** 2).sum())
            assert found["norm"] == pytest.approx(expected, rel=1e-6)
    assert (table[table["method"] == "lp"]["difference"] == 0).all()
    assert (table[table["method"] != "lp"]["difference"] > 0).all()
    both = (
        row(table, method="lp_ft", seed=1, split="test"),
        row(table, method="lp", seed=1, split="test"),
    )
    assert both[0]["start_norm"] == pytest.approx(both[1]["norm"], rel=1e-6)


def test_accuracy_and_constant_predictors(jobs, runs, data):
    table = accuracy.measure(jobs, runs, data)
    assert {*table["split"]} == {"validation", "test", "sst2_sentences"}
    for run in runs:
        method, _, seed = run.name.partition("-")
        labels = {
            "test": data[0]["test_labels"],
            "sst2_sentences": data[2]["test_labels"],
            "validation": data[0]["train_labels"][run.arrays["validation_places"][0]],
        }
        for split, own in labels.items():
            found = row(table, method=method, seed=int(seed), split=split)
            predicted = [int(np.argmax(each)) for each in run.arrays[f"{split}_logits"][0]]
            right = sum(a == b for a, b in zip(predicted, own, strict=True))
            assert found["accuracy"] == pytest.approx(right / len(own))


def test_calibration_before_and_after_scaling(jobs, runs, data):
    table = calibration.measure(calibration_job(jobs), runs, data)
    assert len(table) == len(runs) * 2 * 2
    for run in runs:
        method, _, seed = run.name.partition("-")
        labels = data[0]["train_labels"][run.arrays["validation_places"][0]]
        t = temperature(run.arrays["validation_logits"][0].astype(float), labels)
        for is_scaled, divisor in ((False, 1.0), (True, t)):
            found = row(table, method=method, seed=int(seed), split="test", is_scaled=is_scaled)
            assert found["temperature"] == divisor
            logits = run.arrays["test_logits"][0].astype(float) / divisor
            p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
            gaps, numbers = [], []
            for b in range(BINS):
                own = (p.max(1) > b / BINS) & (p.max(1) <= (b + 1) / BINS)
                if own.any():
                    right = p.argmax(1)[own] == data[0]["test_labels"][own]
                    gaps.append(abs(p.max(1)[own].mean() - right.mean()))
                    numbers.append(own.sum())
            assert found["ece"] == pytest.approx(np.average(gaps, weights=numbers), rel=1e-9)
            assert found["mce"] == pytest.approx(max(gaps), rel=1e-9)
            assert found["mce_samples"] == numbers[int(np.argmax(gaps))]
            assert found["bins"] == len(gaps)
            assert found["mce_lower"] <= found["mce_upper"] <= 1
            own = -np.log(p[np.arange(len(p)), data[0]["test_labels"]]).mean()
            assert found["negative_log_likelihood"] == pytest.approx(own, rel=1e-9)


def test_settings_of_measures_act_on_their_own_columns(jobs, runs, data):
    def differing(one, other):
        return {name for name in one if not one[name].equals(other[name])}

    own = [features.measure(features_job(jobs, ridge), runs, data) for ridge in (RIDGE, 1.0)]
    assert differing(*own) == {"discriminant_ratio"}
    before, fewer, more = (
        calibration.measure(calibration_job(jobs, **changes), runs, data)
        for changes in ({}, {"bins": 2}, {"resamples": 60})
    )
    assert {"ece", "mce", "equal_mass_ece", "debiased_ece", "bins"} <= differing(before, fewer)
    assert fewer["bins"].max() <= 2
    assert differing(before, more) == {"mce_lower", "mce_upper"}


def test_rows_of_the_head(jobs, runs, data):
    table = head_rows.measure(jobs, runs, data)
    (run,) = (each for each in runs if each.name == "lp_ft-2")
    found = row(table, method="lp_ft", seed=2, row=1)
    end, random = (run.arrays[f"{n}weight"][0, 1].astype(float) for n in ("", "random_"))
    expected = end @ random / math.sqrt((end @ end) * (random @ random))
    assert found["random_cosine"] == pytest.approx(expected, rel=1e-6)


def test_norms_along_training(jobs, runs, data):
    table = norm.measure(jobs, runs, data)
    for method in METHODS:
        own = table[(table["method"] == method) & (table["seed"] == 1)]
        (run,) = (each for each in runs if each.name == f"{method}-1")
        assert own["norm"].tolist() == run.arrays["norms"][0].tolist()
        assert own["falling"].isna().all() == (method != "lp")
        assert own["loss"].isna().tolist() == [False] * (len(own) - 1) + [method != "lp"]
    fine_tuned = table[table["method"] == "ft"]
    assert fine_tuned["step"].tolist() == [*range(7), *range(7)]


def test_validation_by_epoch(jobs, runs, data):
    table = validation.measure(jobs, runs, data)
    for run in runs:
        method, _, seed = run.name.partition("-")
        own = table[(table["method"] == method) & (table["seed"] == int(seed))]
        assert own["is_kept"].sum() == 1
        assert own[own["is_kept"]]["accuracy"].item() == own["accuracy"].max()
        labels = data[0]["train_labels"][run.arrays["validation_places"][0]]
        kept = np.mean(run.arrays["validation_logits"][0].argmax(1) == labels)
        assert own["accuracy"].max() == pytest.approx(kept)


def test_delta_is_the_gradient_of_the_loss_in_the_logits(jobs, runs, data):
    table = delta.measure(jobs, runs, data)
    for run in runs:
        method, _, seed = run.name.partition("-")
        places = run.arrays["train_places"][0]
        phi, labels = data[3 + int(seed)]["train_features"][0], data[0]["train_labels"][places]
        logits = phi @ run.arrays["start_weight"][0].T + run.arrays["start_bias"][0]
        lengths = []
        for f, y in zip(logits.astype(float), labels, strict=True):
            p = np.exp(f) / np.exp(f).sum()
            lengths.append(math.sqrt(sum(((k == y) - p[k]) ** 2 for k in range(2))))
        found = row(table, method=method, seed=int(seed))["delta"]
        assert found == pytest.approx(np.mean(lengths), rel=1e-5)


def test_fingerprints(jobs, runs, data):
    table = fingerprint.measure(jobs, runs, data)
    assert table["digest"].is_unique
    assert table.equals(fingerprint.measure(jobs, runs, data))


def test_a_diverged_run_is_measured_as_nothing(folder, jobs, runs, data):
    (run,) = (each for each in runs if each.name == "ft-1")
    lost = {
        n: v * np.nan if n.endswith(("logits", "features")) else v for n, v in run.arrays.items()
    }
    spoilt = [Run(run.name, run.seeds, lost)]
    assert features.measure(features_job(jobs), spoilt, data)["difference"].isna().all()
    assert calibration.measure(calibration_job(jobs), spoilt, data)["ece"].isna().all()
    found = accuracy.measure(jobs, spoilt, data)
    of_validation = found["split"] == "validation"
    assert found.loc[~of_validation, ["accuracy", "matthews"]].isna().all(axis=None)
    kept = [Run(run.name, run.seeds, run.arrays | {"scores": np.array([[0.5, -1.0]])})]
    assert validation.measure(jobs, kept, data)["accuracy"].isna().tolist() == [False, True]


def test_arms_are_told_apart(folder):
    unclipped = tuning(
        optimiser={"kind": "sgd", "clip": None, "rate": 0.5}, norm="probe", factor=3.0
    )
    chosen = job("ft", "cr").model_copy(update={"tuning": unclipped})
    jobs = MetricJob(runs={"arm-rate5e-01": chosen}, sets=["cr"])
    run = Run("arm-rate5e-01-7", [7], trained(folder, chosen, 7))
    found = delta.measure(jobs, [run], metric_data(folder, jobs, [7])).iloc[0]
    assert found[ARM].tolist() == ["cr", "ft", "sgd", 0.0, 0.5, 8, "probe", 3.0, 7]
