"""Scores of predictions."""

import math

import numpy as np
import pytest

from transformer_dynamics.encoders.accuracy import matthews


def test_matthews_correlation():
    predicted, labels = np.array([1, 1, 0, 0, 1, 0, 1]), np.array([1, 0, 0, 0, 1, 1, 1])
    tp, tn, fp, fn = 3, 2, 1, 1
    expected = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert matthews(predicted, labels) == pytest.approx(expected, rel=1e-12)
    assert matthews(np.ones(7, int), labels) == 0
    many = np.array([0, 1, 2, 2, 1, 0])
    assert matthews(many, many) == pytest.approx(1)
    # For more than two classes it is the correlation of the one-hot matrices, summed over classes.
    other = np.array([0, 2, 2, 1, 1, 0])
    x, y = (np.eye(3)[each] - np.eye(3)[each].mean(0) for each in (many, other))
    expected = (x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum())
    assert matthews(other, many) == pytest.approx(expected, rel=1e-12)
