"""Section 7: residual connection and positional bias; initial logits as a prior."""

import numpy as np
import pytest
from theory_objective import gradients

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory import coupling, decoder
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.attention_flow import lemma4_rate
from transformer_dynamics.scan_and_snap.theory.extensions import (
    biased_classes,
    residual_correlations,
    residual_features,
    residual_rate,
)
from transformer_dynamics.scan_and_snap.theory.population import population_flow
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes

CLASSES = sequence_classes(
    Mixture(
        num_last=2,
        next_tokens_per_query=2,
        common_weights=[1.0, 2.0],
        distinct_weights=[0.5, 1.0, 1.5],
    )
)
SIZE = CLASSES.vocabulary_size


def random_logits(seed):
    return np.random.default_rng(seed).normal(size=(2, SIZE))


def test_residual_correlations():
    f = coupling.features(CLASSES, random_logits(0))
    with_query = residual_features(f, CLASSES)
    found = coupling.correlations(with_query)
    expected = residual_correlations(coupling.correlations(f), CLASSES.query)
    assert np.abs(found - expected).max() < 1e-15
    assert np.linalg.norm(with_query, axis=0) == pytest.approx(1)
    same = CLASSES.query[:, None] == CLASSES.query
    assert found[same & ~np.eye(4, dtype=bool)].min() > 0.5 > found[~same].max()


def test_residual_flow_is_the_gradient():
    z, t, eta_y = random_logits(1), 2.5, 0.8
    f = coupling.features(CLASSES, z)
    with_query = residual_features(f, CLASSES)
    h = float(decoder.h_continuous(eta_y, SIZE, t / 4))
    y = coupling.theorem5_decoder(with_query, h, CLASSES.next_tokens)
    _, _, expected = gradients(CLASSES, y, z, residual=True)
    e = residual_correlations(coupling.correlations(f), CLASSES.query)
    beta = coupling.theorem1_coefficients(e, SIZE).beta
    rate = decoder.gamma(eta_y, SIZE, 4, t) * residual_rate(f, beta, CLASSES.query) / 4
    assert np.abs(rate - expected).max() < 1e-14
    assert np.abs(expected).max() > 1e-4


def test_residual_makes_distinctness_a_matter_of_the_query():
    """beta between classes of different queries is small or negative, within a query near one."""
    f = coupling.features(CLASSES, np.zeros((2, SIZE)))
    plain = coupling.theorem1_coefficients(coupling.correlations(f), SIZE).beta
    e = residual_correlations(coupling.correlations(f), CLASSES.query)
    local = coupling.theorem1_coefficients(e, SIZE).beta
    same = (CLASSES.query[:, None] == CLASSES.query) & ~np.eye(4, dtype=bool)
    other = CLASSES.query[:, None] != CLASSES.query
    assert plain[same] == pytest.approx(plain[other][: same.sum()])
    assert local[same].min() > 5 * np.abs(local[other]).max()


def test_residual_gradient_comes_from_the_same_query():
    """The decoder of Theorem 5 on the residual features: g_n is about that of its query alone."""
    f = residual_features(coupling.features(CLASSES, np.zeros((2, SIZE))), CLASSES)
    y = coupling.theorem5_decoder(f, 0.02, CLASSES.next_tokens)
    g = coupling.feature_gradient(y, f, CLASSES.next_tokens)
    parts = -np.linalg.lstsq(f, g, rcond=None)[0]  # row n': gamma beta_nn', but for n' = n
    same = CLASSES.query[:, None] == CLASSES.query
    own = np.linalg.norm(f @ (parts * (same & ~np.eye(4, dtype=bool))), axis=0)
    other = np.linalg.norm(f @ (parts * ~same), axis=0)
    assert (other < own / 5).all()


def test_residual_lets_a_token_shared_across_queries_count_as_distinct():
    """Shared across queries only: repelled without the residual connection, attracted with it."""
    f = np.zeros((12, 4))
    f[[0, 1], [0, 2]] = 1  # private tokens of classes 0 and 2; class 1 and 3 have 2 and 3
    f[[2, 3], [1, 3]] = 1
    f[4, [0, 2]] = 1  # shared by class 0 (first query) and class 2 (second query)
    f[5, [0, 1]] = 1  # shared within the first query
    f[6, [2, 3]] = 1  # shared within the second query
    f /= np.linalg.norm(f, axis=0)
    query = np.array([0, 0, 1, 1])
    e = coupling.correlations(f)
    plain = lemma4_rate(f, coupling.theorem1_coefficients(e, 12).beta, query)
    beta = coupling.theorem1_coefficients(residual_correlations(e, query), 12).beta
    local = residual_rate(f, beta, query)
    assert plain[0, 4] < 0 < local[0, 4]
    assert local[0, 5] < 0
    assert local[0, [0, 2]].min() > 0


def test_positional_bias_is_a_prior():
    """Attending to P exp(z + z_0) is training other probabilities without the bias."""
    bias = random_logits(3)
    tilted = biased_classes(CLASSES, bias)
    z = random_logits(4)
    assert np.abs(attention_weights(tilted, z) - attention_weights(CLASSES, z + bias)).max() < 1e-15
    times = np.linspace(0, 100, 11)
    biased = population_flow(CLASSES, 5.0, 1.0, times, start=bias)
    free = population_flow(tilted, 5.0, 1.0, times)
    assert np.abs(biased.attention_logits - bias - free.attention_logits).max() < 1e-7
    assert np.abs(biased.attention - free.attention).max() < 1e-7
    assert np.abs(free.attention_logits).max() > 0.1


def test_the_winner_is_chosen_by_frequency_times_prior():
    """The dominant distinct token is argmax P exp(z(0)), not argmax P."""
    start = np.zeros((2, SIZE))
    least = CLASSES.support[0, 2]  # the distinct token of class 0 with the smallest P
    start[0, least] = 2.0
    flow = population_flow(CLASSES, 5.0, 1.0, [0, 2000.0], start=start)
    gains = (flow.attention_logits[-1] - start)[CLASSES.query[0], CLASSES.support[0, 2:]]
    assert gains.argmax() == 0
    assert flow.attention[-1, 0].argmax() == 2
    assert CLASSES.probabilities[0].argmin() == 2
    plain = population_flow(CLASSES, 5.0, 1.0, [2000.0])
    assert plain.attention[0, 0, 2:].argmax() == 2


@pytest.mark.parametrize("bias", [np.zeros((1, SIZE)), np.full((2, SIZE), np.nan)])
def test_impossible_bias_is_refused(bias):
    with pytest.raises(InputError, match="positional bias"):
        biased_classes(CLASSES, bias)
