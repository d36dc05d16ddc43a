"""Metrics against scipy and against loops that spell the definitions out."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from transformer_dynamics.scan_and_snap.experiments import MeasureJob, Mixture
from transformer_dynamics.scan_and_snap.figure_settings import Fig6, Fig11
from transformer_dynamics.scan_and_snap.metrics import (
    attention,
    entropy_on_distinct,
    recall_of_distinct,
)
from transformer_dynamics.scan_and_snap.paper_settings import PAPER
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.tables import figure_table

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
    c = attention(MEDIUM, Z)
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
    c = attention(MEDIUM, Z)[:, MEDIUM.distinct].reshape(2, 6, 10)
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


def measure_job(metric: str) -> MeasureJob:
    return PAPER.measure_job("syn_medium", metric, "cpu")


def test_figure_tables_average_over_seeds():
    index = pd.MultiIndex.from_product(
        [[1, 2, 3], [0, 10], [1.0, 2.0]], names=["seed", "iteration", "ratio"]
    )
    metrics = pd.DataFrame({"entropy": np.arange(12.0)}, index=index).reset_index()
    metrics = metrics.assign(num_last=1, eta_z=0.5)
    table = figure_table(Fig6(drawing="fig6", experiment="x"), metrics, measure_job("entropy"))
    assert table["entropy_mean"].tolist() == [6.0, 7.0]
    assert table["entropy_std"].tolist() == [4.0, 4.0]
    assert table["n_seeds"].tolist() == [3, 3]
    assert set(table["stream"]) == {"authors"}
    recall = metrics.rename(columns={"entropy": "recall"}).assign(threshold=0.1)
    columns = figure_table(
        Fig11(drawing="fig11", experiment="x"), recall, measure_job("recall")
    ).columns
    assert list(columns) == [
        "num_last", "eta_z", "ratio", "threshold", "recall_mean", "recall_std", "n_seeds", "stream"
    ]  # fmt: skip
