"""Distance of confidence from accuracy, and the temperature that brings them together.

Confidence is the largest probability. With bins b of n_b of the n samples,

    ECE = sum_b (n_b/n) |conf_b - acc_b|,   MCE = max_b |conf_b - acc_b|

over bins (lo, hi] of equal width, or of (almost) equal numbers of samples. ECE of finite samples
is too large: |conf - acc| of a calibrated bin has a positive mean. The debiased ECE takes off what
resampling adds once more (A. Kumar, P. Liang, T. Ma: Verified Uncertainty Calibration, 2019):

    2 ECE - E sum_b (n_b/n) |conf_b - R_b|,   R_b ~ N(acc_b, acc_b (1 - acc_b)/n_b)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_softmax
from scipy.stats import norm

from replication.base.errors import InputError

LARGEST_LOG = 8.0
"""Largest |ln T|: beyond it a temperature changes no probability that is looked at."""
Floats = NDArray[np.float64]


class Bins(NamedTuple):
    """The bins that are not empty."""

    number: NDArray[np.int64]
    """[B] Number n_b of samples in each bin."""
    confidence: Floats
    """[B] Mean confidence conf_b of each bin."""
    accuracy: Floats
    """[B] Share acc_b of right predictions in each bin."""

    @property
    def gap(self) -> Floats:
        """[B] Distance |conf_b - acc_b| of confidence and accuracy in each bin."""
        return np.asarray(np.abs(self.confidence - self.accuracy))

    @property
    def share(self) -> Floats:
        """[B] Share n_b/n of all samples in each bin."""
        return np.asarray(self.number / self.number.sum())

    @property
    def ece(self) -> float:
        """Expected calibration error, between 0 and 1."""
        return float(self.share @ self.gap)

    @property
    def mce(self) -> float:
        """Largest calibration error of a bin; of a small bin it is noise."""
        return float(self.gap.max())

    @property
    def debiased_ece(self) -> float:
        """ECE without a part of the excess of finite samples; it may be below 0.

        Of calibrated predictions it is 2 - sqrt 2 = .59 of ECE on average, in large bins.
        With mu = conf - acc and s^2 = acc (1 - acc)/n_b, the mean of |N(mu, s^2)| is
        s sqrt(2/pi) exp(-mu^2/(2 s^2)) + mu (1 - 2 Phi(-mu/s)).
        """
        deviation = np.sqrt(self.accuracy * (1 - self.accuracy) / self.number)
        safe = np.where(deviation > 0, deviation, 1.0)
        scaled = self.gap / safe
        folded = 2 * safe * norm.pdf(scaled) + self.gap * (1 - 2 * norm.cdf(-scaled))
        resampled = np.where(deviation > 0, folded, self.gap)
        return float(2 * self.ece - self.share @ resampled)


def confidences(logits: Floats, labels: NDArray[np.integer]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the largest probability of each sample, and whether its class is the right one.

    Logits are [n, C], labels and both results [n]. Of equal logits the first class is predicted.
    """
    values = np.asarray(logits, dtype=np.float64)
    return np.exp(log_softmax(values, axis=1).max(axis=1)), values.argmax(axis=1) == labels


def equal_width(logits: Floats, labels: NDArray[np.integer], bins: int) -> Bins:
    """Return B bins of equal width, (i/B, (i+1)/B], of confidence; logits [n, C], labels [n]."""
    confidence, _ = confidences(logits, labels)
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    return _binned(logits, labels, np.searchsorted(edges, confidence, side="left"))


def equal_mass(logits: Floats, labels: NDArray[np.integer], bins: int) -> Bins:
    """Return bins of n/B samples each, up to one, by confidence; logits [n, C], labels [n]."""
    confidence, _ = confidences(logits, labels)
    place = np.empty(len(confidence), dtype=np.int64)
    place[np.argsort(confidence, kind="stable")] = (
        np.arange(len(confidence)) * bins // max(len(confidence), 1)
    )
    return _binned(logits, labels, place)


def _binned(logits: Floats, labels: NDArray[np.integer], place: NDArray[np.integer]) -> Bins:
    confidence, right = confidences(logits, labels)
    if not len(confidence):
        raise InputError("calibration needs at least one sample")
    _, inverse, number = np.unique(place, return_inverse=True, return_counts=True)
    means = (np.bincount(inverse, weights=values) / number for values in (confidence, right))
    return Bins(number, *means)


def negative_log_likelihood(logits: Floats, labels: NDArray[np.integer]) -> float:
    """Return the mean -ln p of the right class, in nats."""
    given = log_softmax(np.asarray(logits, dtype=np.float64), axis=1)
    return float(-given[np.arange(len(labels)), labels].mean())


def temperature(logits: Floats, labels: NDArray[np.integer]) -> float:
    """Return the T > 0 that minimises the negative log-likelihood of logits f/T.

    It is convex in 1/T, so that it has one minimum over ln T, where its derivative

        d/d(1/T) = mean_i (sum_k p_ik f_ik - f_{i y_i})

    changes sign. Where every sample is right, or confidence does not help, the minimum lies at an
    end; ln T then stays at -8 or 8. Logits f [n, C] and labels y [n] are of validation samples.
    Raises an `InputError` without samples, or for logits that are not finite.
    """
    values = np.asarray(logits, dtype=np.float64)
    if not len(values) or not np.isfinite(values).all():
        raise InputError("a temperature needs samples with finite logits")
    own = values[np.arange(len(labels)), labels]

    def slope(log_temperature: float) -> float:
        given = np.exp(log_softmax(values * np.exp(-log_temperature), axis=1))
        return float(((given * values).sum(axis=1) - own).mean())

    # The slope falls in ln T, as 1/T does.
    if slope(-LARGEST_LOG) <= 0:
        return float(np.exp(-LARGEST_LOG))
    if slope(LARGEST_LOG) >= 0:
        return float(np.exp(LARGEST_LOG))
    return float(np.exp(brentq(slope, -LARGEST_LOG, LARGEST_LOG, xtol=1e-13, rtol=1e-13)))
