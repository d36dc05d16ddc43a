"""Classes drawn at random (Lemmas 10 to 12, Theorem 5)."""

import numpy as np
import pytest

from transformer_dynamics.scan_and_snap.claims import sampling
from transformer_dynamics.scan_and_snap.theory import coupling, decoder, updates

DRAWS = 20_000


def test_probabilities_are_those_of_random_draws():
    """Of K = 2 classes and N = 400 updates, as often beyond a bound as the evidence says."""
    counts = np.random.default_rng(0).multinomial(400, [0.5, 0.5], size=DRAWS)
    size, eta_y = sampling.SIZE, sampling.ETA_Y
    delta, name = 0.5, "K = 2, N = 400, delta = 0.5"
    radius = np.ceil(np.sqrt(400 * np.log(1 / delta)))
    h, mean = (decoder.h_continuous(eta_y, size, at) for at in (counts, 200))
    steps = decoder.h_steps(eta_y, size, 400)[counts]
    error, expected = (decoder.prediction_error(at, size) for at in (h, mean))
    beyond = {
        "number_of_draws": np.abs(counts - 200) > np.sqrt(200 * np.log(2 / delta)) + 1,
        "progress": np.abs(h / mean - 1) > radius / 200,
        "error": np.abs(error / expected - 1) > eta_y * radius / 3,
        "decoder": 2 * (np.abs(steps / mean - 1) > 2 * np.sqrt(np.log(2 / delta) / 400)),
    }
    for measure, found in beyond.items():
        evidence = getattr(sampling, measure)().set_index("cell")["value"]
        share = found[:, 0].mean() / delta
        assert evidence[name] == pytest.approx(share, abs=5 * np.sqrt(2 / DRAWS) / delta)
        assert evidence.index.is_unique
    assert beyond["number_of_draws"].any()
    assert beyond["decoder"].any()


def test_theorem_5_with_classes_drawn_at_random():
    """Y = F (I - E') (I + Theta) W, with theta_n from how often class n was drawn (26)."""
    f = coupling.example_features(60, 4)
    e = coupling.correlations(f)
    order = np.random.default_rng(1).integers(4, size=400)
    y = f @ updates.simulate_updates(e, 60, 0.3, order, modified=True)[-1]
    steps = decoder.h_steps(0.3, 60, 400)
    theta = steps[np.bincount(order, minlength=4)] / steps[100] - 1
    assert np.abs(theta).max() > 0.01
    rows = (60 * np.eye(4, 60) - 1) * steps[100]  # (M-1) h zeta_n
    expected = (f - f @ coupling.e_prime(e)) @ ((1 + theta)[:, None] * rows)
    assert np.abs(y - expected).max() < 1e-12
