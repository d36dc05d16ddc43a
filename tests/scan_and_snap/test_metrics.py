"""Metrics against scipy and against loops that spell the definitions out."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from settings_of_the_paper import PAPER

from replication.base.errors import InputError
from replication.study.contract import Run
from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.figures import fig2, fig6, recall
from transformer_dynamics.scan_and_snap.metrics.attention import (
    entropy_on_distinct,
    recall_of_distinct,
)
from transformer_dynamics.scan_and_snap.metrics.growth import growth
from transformer_dynamics.scan_and_snap.metrics.tables import measure
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

MEDIUM = sequence_classes(PAPER.mixtures["syn_medium_3"])
Z = np.random.default_rng(0).normal(size=(2, 3, MEDIUM.vocabulary_size))


def test_layout_of_syn_small():
    classes = sequence_classes(PAPER.mixtures["syn_small"])
    assert classes.vocabulary_size == 34
    assert classes.support[1].tolist() == [*range(10), *range(20, 30)]
    assert classes.query_tokens.tolist() == [30, 31]
    assert classes.next_tokens.tolist() == [32, 33]
    assert classes.distinct.tolist() == [[False] * 10 + [True] * 10] * 2
    np.testing.assert_allclose(classes.probabilities[0, [0, 10, 19]], np.array([1, 0.1, 1]) / 15.5)


@pytest.mark.parametrize(("num_last", "size"), [(1, 33), (3, 79), (5, 125), (10, 240)])
def test_vocabulary_of_syn_medium(num_last, size):
    mixture = PAPER.mixtures[f"syn_medium_{num_last}"]
    assert mixture.vocabulary_size == size
    assert sequence_classes(mixture).query.tolist() == sorted([*range(num_last)] * 2)


def test_attention_is_tilted_probability():
    c = attention_weights(MEDIUM, Z)
    for n in range(6):
        for run in range(2):
            z = Z[run, MEDIUM.query[n], MEDIUM.support[n]]
            tilted = MEDIUM.probabilities[n] * np.exp(z)
            np.testing.assert_allclose(c[run, n], tilted / tilted.sum())


def test_entropy_at_zero_is_that_of_the_weights():
    entropy = entropy_on_distinct(MEDIUM, np.zeros((3, MEDIUM.vocabulary_size)))
    assert entropy == pytest.approx(stats.entropy(np.arange(1, 11)))
    assert entropy == pytest.approx(2.1513, abs=5e-5)


def test_entropy_against_scipy():
    c = attention_weights(MEDIUM, Z)[:, MEDIUM.distinct].reshape(2, 6, 10)
    np.testing.assert_allclose(
        entropy_on_distinct(MEDIUM, Z), stats.entropy(c, axis=-1).mean(axis=-1)
    )


def test_entropy_of_uniform_and_of_collapsed_attention():
    mixture = Mixture(
        num_last=1, next_tokens_per_query=2, common_weights=[1], distinct_weights=[1] * 5
    )
    classes = sequence_classes(mixture)
    z = np.zeros((1, classes.vocabulary_size))
    assert entropy_on_distinct(classes, z) == pytest.approx(math.log(5))
    z[0, [1, 6]] = 1e4
    assert entropy_on_distinct(classes, z) == pytest.approx(0, abs=1e-12)


def test_recall_counts_pairs_above_the_threshold():
    thresholds = [0.005, 0.01, 0.02]
    recall = recall_of_distinct(MEDIUM, Z, thresholds)
    for run in range(2):
        for index, threshold in enumerate(thresholds):
            hits = [
                np.exp(Z[run, m, token]) / np.exp(Z[run, m]).sum() > threshold
                for n, m in enumerate(MEDIUM.query)
                for token in MEDIUM.support[n, 10:]
            ]
            assert recall[run, index] == pytest.approx(np.mean(hits))


def measure_job(metric: str) -> MetricJob:
    return PAPER.metric_job("syn_medium", metric, "cpu")


def test_figure_tables_average_over_seeds():
    index = pd.MultiIndex.from_product(
        [[1, 2, 3], [0, 10], [1.0, 2.0]], names=["seed", "iteration", "ratio"]
    )
    metrics = pd.DataFrame({"entropy": np.arange(12.0)}, index=index).reset_index()
    metrics = metrics.assign(num_last=1, eta_z=0.5)
    measured = Measured(metrics, measure_job("entropy"))
    table = fig6.table(fig6.Fig6(kind="fig6", experiment="x"), measured)
    assert table["entropy_mean"].tolist() == [6.0, 7.0]
    assert table["entropy_std"].tolist() == [4.0, 4.0]
    assert table["n_seeds"].tolist() == [3, 3]
    assert set(table["stream"]) == {"authors"}
    recalls = metrics.rename(columns={"entropy": "recall"}).assign(threshold=0.1)
    measured = Measured(recalls, measure_job("recall"))
    table = recall.table(recall.Recall(kind="fig11", experiment="x"), measured)
    assert list(table.columns) == [
        "num_last", "eta_z", "ratio", "threshold", "recall_mean", "recall_std", "n_seeds", "stream",
        "even_attention",
    ]  # fmt: skip


FILES = {"1-2": [1, 2], "5": [5]}
SEEDS = [1, 2, 5]
STEPS, RECORDED = 7, [3, 7]
KEYS = ["mixture", "num_last", "eta_z", "ratio", "seed", "iteration"]


def short_job(metric: str) -> MetricJob:
    job = measure_job(metric)
    update = {
        "mixtures": {name: job.mixtures[name] for name in ("syn_medium_1", "syn_medium_3")},
        "sampling": job.sampling.model_copy(update={"steps": STEPS}),
        "training": job.training.model_copy(update={"recorded": RECORDED[:1]}),
    }
    return job.model_copy(update=update)


def random_runs(job: MetricJob) -> dict[str, np.ndarray]:
    """Arrays [seed, ...] as training leaves them."""
    generator = np.random.default_rng(1)
    cells, runs = len(job.training.cells), {}
    for name, mixture in job.mixtures.items():
        rows = (len(SEEDS), len(RECORDED), cells, mixture.num_last, mixture.vocabulary_size)
        runs[f"{name}/attention_logits"] = generator.normal(size=rows).astype(np.float32)
        loss = generator.exponential(size=(len(SEEDS), STEPS, cells))
        runs[f"{name}/loss"] = loss.astype(np.float32)
    return runs


def measured_table(job: MetricJob, runs: dict[str, np.ndarray]) -> pd.DataFrame:
    """What the program makes of runs in two files."""
    files = []
    for name, seeds in FILES.items():
        places = [SEEDS.index(seed) for seed in seeds]
        files.append(Run(name, seeds, {key: array[places] for key, array in runs.items()}))
    return measure(job, files, [])


@pytest.mark.parametrize(
    ("metric", "iterations", "further"),
    [
        ("attention", RECORDED, ["sequence_class", "token"]),
        ("entropy", RECORDED, []),
        ("growth", RECORDED, ["quantity"]),
        ("loss", range(STEPS), []),
        ("recall", RECORDED, ["threshold"]),
        ("unnormalised_attention", RECORDED, ["sequence_class", "token"]),
    ],
)
def test_columns_and_rows_of_a_metric(metric, iterations, further):
    job = short_job(metric)
    table = measured_table(job, random_runs(job))
    assert list(table.columns) == [*KEYS, *further, metric]
    assert table[metric].dtype == np.float64
    assert table[metric].notna().all()
    assert not table.duplicated([*KEYS, *further]).any()
    runs = itertools.product(job.mixtures, job.training.cells, SEEDS, iterations)
    found = table[["mixture", "eta_z", "ratio", "seed", "iteration"]].itertuples(index=False)
    assert set(found) == {(name, *cell, *place) for name, cell, *place in runs}


def test_growth_from_the_only_record_is_none():
    exponent, gain, factor = growth(MEDIUM, np.zeros((1, *Z.shape[1:])))[0]
    assert (exponent, factor) == (0, 1)
    assert gain > 0


def test_figure_2_names_all_updates_that_it_needs():
    job = PAPER.metric_job("four_stages", "unnormalised_attention", "cpu")
    job = job.model_copy(update={"training": job.training.model_copy(update={"recorded": [0]})})
    with pytest.raises(InputError, match="'four_stages' must record 14, 41 "):
        fig2.table(PAPER.figures["fig2"], Measured(pd.DataFrame(), job))


@pytest.mark.parametrize(
    ("metric", "array", "iterations"),
    [("loss", "loss", range(STEPS)), ("entropy", "attention_logits", RECORDED)],
)
def test_a_row_has_the_value_of_its_run(metric, array, iterations):
    job = short_job(metric)
    runs = random_runs(job)
    values = measured_table(job, runs).set_index(KEYS)[metric]
    for name, mixture in job.mixtures.items():
        for indices in np.ndindex(runs[f"{name}/{array}"].shape[:3]):
            place, row, cell = indices
            key = (name, mixture.num_last, *job.training.cells[cell], SEEDS[place], iterations[row])
            stored = runs[f"{name}/{array}"][indices]
            if metric == "entropy":
                stored = entropy_on_distinct(sequence_classes(mixture), stored)
            assert values[key] == stored
