"""Calibration errors and temperature against literal sums and other minimisers."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from replication.base.errors import InputError
from transformer_dynamics.encoders import calibration

BINS = 15


def drawn(n=300, classes=3, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n, classes))
    labels = np.array([rng.choice(classes, p=_softmax(row / 2)) for row in logits])
    return logits, labels


def _softmax(row):
    weights = np.exp(row - row.max())
    return weights / weights.sum()


def literal_errors(logits, labels, bins=BINS):
    """ECE and MCE by a loop over bins (lo, hi]."""
    probabilities = np.array([_softmax(row) for row in logits])
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    ece, mce = 0.0, 0.0
    for i in range(bins):
        inside = (confidence > i / bins) & (confidence <= (i + 1) / bins)
        if inside.any():
            gap = abs(confidence[inside].mean() - right[inside].mean())
            ece, mce = ece + inside.mean() * gap, max(mce, gap)
    return ece, mce


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_errors_are_the_literal_sums(classes):
    logits, labels = drawn(classes=classes)
    bins = calibration.equal_width(logits, labels, BINS)
    ece, mce = literal_errors(logits, labels)
    assert bins.ece == pytest.approx(ece, rel=1e-12)
    assert bins.mce == pytest.approx(mce, rel=1e-12)
    assert bins.number.sum() == 300


def test_a_confidence_at_an_edge_belongs_to_the_bin_below():
    """Two samples of confidence exactly 1/2 and one above it, in two bins."""
    logits = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    bins = calibration.equal_width(logits, np.array([0, 1, 0]), bins=2)
    assert bins.number.tolist() == [2, 1]
    assert bins.accuracy.tolist() == [0.5, 1.0]
    assert bins.ece == pytest.approx(bins.gap[1] / 3)


def test_certain_predictions_are_in_the_last_bin():
    bins = calibration.equal_width(np.array([[1e3, 0.0]] * 4), np.array([0, 0, 0, 1]), BINS)
    assert bins.number.tolist() == [4]
    assert bins.ece == bins.mce == pytest.approx(0.25)


def test_bins_of_equal_mass():
    logits, labels = drawn(n=152)
    bins = calibration.equal_mass(logits, labels, BINS)
    assert set(bins.number) == {10, 11}
    assert (np.diff(bins.confidence) > 0).all()
    probabilities = np.sort([_softmax(row).max() for row in logits])
    assert bins.confidence[0] == pytest.approx(probabilities[: bins.number[0]].mean(), rel=1e-12)


def test_the_debiased_error_takes_off_what_resampling_adds():
    logits, labels = drawn(seed=1)
    bins = calibration.equal_mass(logits, labels, BINS)
    rng = np.random.default_rng(0)
    deviation = np.sqrt(bins.accuracy * (1 - bins.accuracy) / bins.number)
    resampled = bins.accuracy + deviation * rng.normal(size=(200_000, len(bins.number)))
    mean = (np.abs(bins.confidence - resampled) @ bins.share).mean()
    assert bins.debiased_ece == pytest.approx(2 * bins.ece - mean, abs=2e-4)
    assert bins.debiased_ece < bins.ece


def test_of_calibrated_predictions_the_debiased_error_is_smaller():
    """The mean of |N(0, s^2)| is taken off as often as that of |N(0, 2 s^2)| is larger."""
    found = []
    for seed in range(40):
        logits, _ = drawn(seed=seed)
        rng = np.random.default_rng(100 + seed)
        labels = np.array([rng.choice(3, p=_softmax(row)) for row in logits])
        bins = calibration.equal_mass(logits, labels, BINS)
        found.append((bins.ece, bins.debiased_ece))
    plain, debiased = np.mean(found, axis=0)
    assert debiased / plain == pytest.approx(2 - np.sqrt(2), abs=0.06)


def test_the_temperature_minimises_the_likelihood_over_its_logarithm():
    logits, labels = drawn()
    found = calibration.temperature(logits, labels)

    def likelihood(log_temperature):
        scaled = [_softmax(row / np.exp(log_temperature)) for row in logits]
        return -np.mean([np.log(p[label]) for p, label in zip(scaled, labels, strict=True)])

    other = minimize_scalar(likelihood, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
    assert np.log(found) == pytest.approx(other.x, abs=1e-6)
    assert found > 1.3
    assert calibration.negative_log_likelihood(logits, labels) == pytest.approx(
        likelihood(0.0), rel=1e-12
    )


@pytest.mark.parametrize("factor", [0.1, 7.0])
def test_a_longer_head_only_rescales_the_temperature(factor):
    """(V, b) -> t (V, b): T -> t T, so that nothing changes after scaling; before, ECE does."""
    logits, labels = drawn()
    plain, scaled = (calibration.temperature(t * logits, labels) for t in (1.0, factor))
    assert scaled == pytest.approx(factor * plain, rel=1e-9)
    after = [
        calibration.equal_width(t * logits / temperature, labels, BINS)
        for t, temperature in ((1.0, plain), (factor, scaled))
    ]
    assert after[0].ece == pytest.approx(after[1].ece, abs=1e-9)
    before = [calibration.equal_width(t * logits, labels, BINS) for t in (1.0, factor)]
    assert abs(before[0].ece - before[1].ece) > 0.05
    predicted = [calibration.confidences(t * logits, labels)[1] for t in (1.0, factor)]
    assert (predicted[0] == predicted[1]).all()


def test_without_an_inner_minimum_the_temperature_is_at_an_end():
    logits = np.array([[1.0, 0.0], [0.0, 2.0]])
    limit = calibration.LARGEST_LOG
    assert np.log(calibration.temperature(logits, np.array([0, 1]))) == pytest.approx(-limit)
    assert np.log(calibration.temperature(logits, np.array([1, 0]))) == pytest.approx(limit)


def test_what_has_no_calibration_is_refused():
    empty = np.empty((0, 2)), np.empty(0, dtype=np.int64)
    with pytest.raises(InputError, match="at least one sample"):
        calibration.equal_width(*empty, BINS)
    with pytest.raises(InputError, match="finite logits"):
        calibration.temperature(*empty)
    with pytest.raises(InputError, match="finite logits"):
        calibration.temperature(np.array([[np.nan, 0.0]]), np.array([0]))
