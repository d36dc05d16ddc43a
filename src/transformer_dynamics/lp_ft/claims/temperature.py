"""Multiplying a head, which is temperature scaling (Sec. 4.6), on made-up logits."""

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.encoders.calibration import equal_width, temperature

SIZES = ((2, 200), (3, 60), (6, 500))
"""Numbers of classes C and of samples n."""
FACTORS = (0.01, 0.1, 0.5, 3.0, 30.0)
"""Factors t of V and b; 1/t is a temperature."""
BINS = 15
"""Number of bins of ECE, as in the paper."""

Floats = NDArray[np.float64]


def draw_predictions(classes: int, number: int) -> tuple[Floats, NDArray[np.int64]]:
    """Draw logits [n, C] that know their labels [n] in part."""
    random = generator(classes, "logits")
    labels = random.integers(classes, size=number)
    logits = random.normal(size=(number, classes)) + 1.5 * np.eye(classes)[labels]
    return logits, labels


@evidence
def changed_predictions() -> Cases:
    """Yield the share of predictions that a factor changes."""
    for classes, number in SIZES:
        logits, _ = draw_predictions(classes, number)
        for factor in FACTORS:
            changed = (factor * logits).argmax(axis=1) != logits.argmax(axis=1)
            yield f"C = {classes}, t = {factor:g}", changed.mean()


@evidence
def scaled_temperature() -> Cases:
    """Yield |ln T(t f) - ln t - ln T(f)| of the temperatures that fit best."""
    for classes, number in SIZES:
        logits, labels = draw_predictions(classes, number)
        best = temperature(logits, labels)
        for factor in FACTORS:
            found = temperature(factor * logits, labels)
            yield f"C = {classes}, t = {factor:g}", abs(np.log(found / factor / best))


@evidence
def error_after_scaling() -> Cases:
    """Yield |ECE(t f/T(t f)) - ECE(f/T(f))|, after temperature scaling."""
    for classes, number in SIZES:
        logits, labels = draw_predictions(classes, number)
        before = _error_after(logits, labels)
        for factor in FACTORS:
            found = _error_after(factor * logits, labels)
            yield f"C = {classes}, t = {factor:g}", abs(found - before)


@evidence
def error_before_scaling() -> Cases:
    """Yield the largest minus the least ECE(t f) over the factors, before temperature scaling."""
    for classes, number in SIZES:
        logits, labels = draw_predictions(classes, number)
        found = [equal_width(factor * logits, labels, BINS).ece for factor in FACTORS]
        yield f"C = {classes}", max(found) - min(found)


def _error_after(logits: Floats, labels: NDArray[np.int64]) -> float:
    return equal_width(logits / temperature(logits, labels), labels, BINS).ece
