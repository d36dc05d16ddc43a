"""Classes drawn at random, each with probability 1/K (Appendix D.4).

How often a class is drawn is binomial, so the probabilities are computed, not sampled.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.theory.decoder import (
    h_continuous,
    h_steps,
    omega_1,
    prediction_error,
)

Floats = NDArray[np.float64]

SIZE, ETA_Y = 1000, 0.01
"""Vocabulary size M, and an eta_Y above M^{-0.99} with which Nbar lies before and after Lemma 9's
transition."""


class Draws(NamedTuple):
    """N updates of K classes, and how often one of them is drawn."""

    name: str
    """Name of the case, with K, N and delta."""
    num_classes: int
    """Number K of sequence classes."""
    updates: int
    """Number N of updates, 100 K^2 or more, as N >> K^2."""
    counts: NDArray[np.int64]
    """[C] Numbers N_n of draws of a class that occur, all but 1e-12 of them."""
    probabilities: Floats
    """[C] Probability of each of these numbers."""

    @property
    def mean(self) -> int:
        """Mean number of draws of a class, rounded up: ceil(N/K)."""
        return -(-self.updates // self.num_classes)

    def probability_beyond(self, deviation: NDArray[np.float64 | np.int64], bound: float) -> float:
        """Return the probability of a deviation, one for each number, beyond a bound."""
        return float(self.probabilities[np.abs(deviation) > bound].sum())


@evidence
def number_of_draws() -> Cases:
    """Measure how often N_n departs too far from N/K, over delta (Lemma 10).

    The value is P(|N_n - ceil(N/K)| > sqrt(N/2 ln(2/delta)) + 1) over delta.
    """
    for draws, delta in _all_draws():
        bound = np.sqrt(draws.updates / 2 * np.log(2 / delta)) + 1
        yield draws.name, draws.probability_beyond(draws.counts - draws.mean, bound) / delta


@evidence
def progress() -> Cases:
    """Measure how often h(N_n) departs too far from h(Nbar), over delta (Lemma 11).

    The value is P(|h(N_n) - h(Nbar)| > h(Nbar) Delta/Nbar) over delta.
    """
    for draws, delta in _all_draws():
        h, mean = (h_continuous(ETA_Y, SIZE, at) for at in (draws.counts, draws.mean))
        relative = _delta_radius(draws, delta) / draws.mean
        yield draws.name, draws.probability_beyond(h / mean - 1, relative) / delta


@evidence
def error() -> Cases:
    """Measure how often the error e(N_n) departs too far from e(Nbar), over delta (Lemma 11).

    The value is P(|e(N_n)/e(Nbar) - 1| > sigma') over delta, e = 1/(M - 1 + exp(M h)).

    sigma' = eta_Y Delta/3, or Delta/Nbar from N = 2 K (1 + omega_1) ln(M)/eta_Y on.
    """
    for draws, delta in _all_draws():
        size, mean = (
            prediction_error(h_continuous(ETA_Y, SIZE, at), SIZE)
            for at in (draws.counts, draws.mean)
        )
        late = draws.mean >= 2 * (1 + omega_1(SIZE)) * np.log(SIZE) / ETA_Y
        sigma = _delta_radius(draws, delta) * (1 / draws.mean if late else ETA_Y / 3)
        yield draws.name, draws.probability_beyond(size / mean - 1, sigma) / delta


@evidence
def decoder() -> Cases:
    """Measure how often theta_n is too large, over delta (Lemma 12, Theorem 5).

    The value is K P(|theta_n| > K/sqrt(N) sqrt(ln(K/delta))) over delta, where w_n = (1 + theta_n)
    (M-1) h(Nbar) zeta_n after N_n updates (26). K times the probability of one class is at least
    that of any of them.
    """
    for draws, delta in _all_draws():
        reached = h_steps(ETA_Y, SIZE, int(draws.counts[-1]))[draws.counts]
        theta = reached / h_continuous(ETA_Y, SIZE, draws.mean) - 1
        bound = draws.num_classes * np.sqrt(np.log(draws.num_classes / delta) / draws.updates)
        yield draws.name, draws.num_classes * draws.probability_beyond(theta, bound) / delta


def _all_draws() -> Iterator[tuple[Draws, float]]:
    for num_classes in (2, 10):
        for passes in (100, 1000):
            updates = passes * num_classes**2
            drawn = binom(updates, 1 / num_classes)
            counts = np.arange(drawn.ppf(5e-13), drawn.ppf(1 - 5e-13) + 1).astype(np.int64)
            for delta in (0.5, 0.1, 0.01):
                name = f"K = {num_classes}, N = {updates}, delta = {delta:g}"
                yield Draws(name, num_classes, updates, counts, drawn.pmf(counts)), delta


def _delta_radius(draws: Draws, delta: float) -> float:
    """Return Delta = ceil(sqrt(N ln(1/delta))) of Appendix D.1."""
    return float(np.ceil(np.sqrt(draws.updates * np.log(1 / delta))))
