"""The decoder while the attention stands still (Section 3, Appendix D)."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.examples import OVERLAPPING, deviation
from transformer_dynamics.scan_and_snap.theory.coupling import correlations, example_features
from transformer_dynamics.scan_and_snap.theory.decoder import (
    gamma,
    h_continuous,
    h_steps,
    h_time,
    lemma5_logits,
    lemma5_prediction,
    omega_1,
    prediction_error,
    q1,
    scanning_end,
    snapping_start,
)
from transformer_dynamics.scan_and_snap.theory.integration import integrate
from transformer_dynamics.scan_and_snap.theory.updates import logits, simulate_updates

Floats = NDArray[np.float64]

FIGURE_8 = (
    *((50, eta_y) for eta_y in (0.1, 0.2, 0.5, 1.0, 2.0)),
    *((1000, eta_y) for eta_y in (0.2, 0.5, 1.0, 2.0, 4.0)),
)
"""Vocabulary size M and learning rate eta_Y of each curve of Figure 8."""
SIZES = (30, 100, 1000, 10_000)
ETA_Y, NUM_CLASSES = 0.5, 10
UNTIL_SCANNING_END = scanning_end, np.linspace(0.01, 1, 100)
FROM_SNAPPING_START = snapping_start, np.logspace(0, 5, 100)


@evidence
def decoupling() -> Cases:
    """Measure the largest |w_n - (M-1) h*(N_n) zeta_n| over the largest |w_n|.

    Classes come in random order, with the modified update (26).
    """
    for num_classes, size in OVERLAPPING:
        e = correlations(example_features(size, num_classes))
        order = np.random.default_rng(0).integers(num_classes, size=400)
        run = simulate_updates(e, size, ETA_Y, order, modified=True)
        h = h_steps(ETA_Y, size, 400)[np.bincount(order, minlength=num_classes)]
        expected = np.array([lemma5_logits(h[n], size, n) for n in range(num_classes)])
        yield f"K = {num_classes}, M = {size}", deviation(logits(run[-1:], e)[0], expected)


@evidence
def one_class() -> Cases:
    """Measure how far the simulated w_n and alpha_n are from (31) and (32), one class.

    The values are the largest relative deviations.
    """
    for size, eta_y in ((4, 0.3), (100, 0.3), (100, 2.0), (1000, 1.0)):
        run = simulate_updates([[0.0]], size, eta_y, np.zeros(200, np.int64), modified=True)
        found, h = logits(run, [[0.0]])[:, 0], h_steps(eta_y, size, 200)
        name = f"M = {size}, eta_Y = {eta_y:g}"
        yield f"{name}: w_n", deviation(found, lemma5_logits(h, size, 0))
        alpha = softmax(found, axis=-1)
        yield f"{name}: alpha_n", deviation(alpha, lemma5_prediction(h, size, 0))


@evidence
def continuous_solution() -> Cases:
    """Measure the largest |h(s) by (45) - h(s) by integrating (44)| over the largest h."""
    for size, eta_y in ((2, 1.0), (50, 0.1), (1000, 4.0), (100_000, 0.5)):
        times = np.linspace(0, 60 / eta_y, 40)
        slope = partial(_slope_of_mh, size, eta_y)
        found = integrate(slope, np.zeros(1), times, tolerance=1e-13)[:, 0] / size
        closed = h_continuous(eta_y, size, times)
        yield f"M = {size}, eta_Y = {eta_y:g}", deviation(closed, found)


@evidence
def largest_gap() -> Cases:
    """Measure the largest M (h*(s) - h(s))/eta_Y, at the rates of Figure 8 (Lemma 7).

    The range is 0 < s <= 1000/eta_Y.
    """
    for name, gap in _figure_8_gaps():
        yield name, gap.max()


@evidence
def smallest_gap() -> Cases:
    """Measure the smallest M (h*(s) - h(s))/eta_Y, at the rates of Figure 8 (Lemma 7).

    The range is 0 < s <= 1000/eta_Y.
    """
    for name, gap in _figure_8_gaps():
        yield name, gap[1:].min()


@evidence
def final_gap() -> Cases:
    """Measure h* - h at s = 1000/eta_Y over its largest value, rates of Figure 8 (Lemma 7b)."""
    for name, gap in _figure_8_gaps():
        yield name, gap[-1] / gap.max()


@evidence
def time_shift() -> Cases:
    """Measure the least c, in updates, with h(s + c) >= h*(s) at the start (Lemma 7a).

    The range is s <= ln(M)/eta_Y.
    """
    for size, eta_y in FIGURE_8:
        shift = least_shift(eta_y, size, int(np.log(size) / eta_y))
        yield f"M = {size}, eta_Y = {eta_y:g}", shift.max()


@evidence
def late_time_shift() -> Cases:
    """Measure the least c with h(s + c) >= h*(s) later on, over ln M (Remark 2).

    The range is s_1 < s <= 40 ln(M)/eta_Y, with s_1 = 2 ln(1 + omega_1)/eta_Y as printed.
    """
    for size in (50, 1000, 10**5, 10**7):
        for eta_y in (0.1, 1.0):
            shift = least_shift(eta_y, size, int(40 * np.log(size) / eta_y))
            begin = int(2 * np.log(1 + omega_1(size)) / eta_y) + 1
            yield f"M = {size}, eta_Y = {eta_y:g}", shift[begin:].max() / np.log(size)


@evidence
def crossing() -> Cases:
    """Measure omega_1 over ln ln M/ln M (Lemma 8).

    It solves exp(x) = (M-1) x at x = (1 + omega_1) ln M.
    """
    for size in (*SIZES, 10**6, 10**9):
        yield f"M = {size}", omega_1(size) * np.log(size) / np.log(np.log(size))


@evidence
def early_gamma() -> Cases:
    """Measure gamma(t) over eta_Y t/K for t <= t_0', smallest and largest (Lemma 9)."""
    for size, seen, gamma_t, _ in _curves_around(*UNTIL_SCANNING_END):
        yield from _extremes(size, gamma_t / seen)


@evidence
def early_h() -> Cases:
    """Measure h(t/K) over eta_Y t/(M K) for t <= t_0', smallest and largest (Lemma 9)."""
    for size, seen, _, h in _curves_around(*UNTIL_SCANNING_END):
        yield from _extremes(size, size * h / seen)


@evidence
def late_gamma() -> Cases:
    """Measure gamma(t) over its late form, smallest and largest (Lemma 9).

    The form is K ln(M eta_Y t/K)/(eta_Y t), for t_0 <= t <= 10^5 t_0.
    """
    for size, seen, gamma_t, _ in _curves_around(*FROM_SNAPPING_START):
        yield from _extremes(size, gamma_t * seen / np.log(size * seen))


@evidence
def late_h() -> Cases:
    """Measure h(t/K) over its late form, smallest and largest (Lemma 9).

    The form is ln(M eta_Y t/K)/M, for t_0 <= t <= 10^5 t_0.
    """
    for size, seen, _, h in _curves_around(*FROM_SNAPPING_START):
        yield from _extremes(size, size * h / np.log(size * seen))


@evidence
def updates_to_error() -> Cases:
    """Measure the updates until |x_{T+1} - alpha_n|_2 <= eps over their bound (Corollary 1).

    The bound is K/(eps eta_Y) ln(M/eps).
    """
    for size in SIZES:
        norms = np.sqrt(q1(size)) * prediction_error(h_steps(ETA_Y, size, 4000), size)
        for eps in (0.1, 0.01, 0.001):
            seen = int((norms > eps).sum())  # of each class: a K-th of the updates
            yield f"M = {size}, eps = {eps:g}", seen * eps * ETA_Y / np.log(size / eps)


def least_shift(eta_y: float, size: int, steps: int) -> Floats:
    """Return the c of every s <= steps with h(s + c) = h*(s) [steps + 1]."""
    return h_time(eta_y, size, h_steps(eta_y, size, steps)) - np.arange(steps + 1)


def _slope_of_mh(size: int, eta_y: float, _time: float, mh: Floats) -> Floats:
    """Return the time derivative of M h (44)."""
    return np.asarray(size * eta_y / (size - 1 + np.exp(mh)))


def _figure_8_gaps() -> Iterator[tuple[str, Floats]]:
    """Yield name and M (h* - h)/eta_Y of each curve of Figure 8, for s up to 1000/eta_Y."""
    for size, eta_y in FIGURE_8:
        s = np.arange(int(1000 / eta_y) + 1)
        gap = h_steps(eta_y, size, s[-1]) - h_continuous(eta_y, size, s)
        yield f"M = {size}, eta_Y = {eta_y:g}", size / eta_y * gap


def _curves_around(
    turn: Callable[[float, int, int], float], parts: Floats
) -> Iterator[tuple[int, Floats, Floats, Floats]]:
    """Yield M, eta_Y t/K, gamma(t) and h(t/K) at parts of a time of Lemma 9."""
    for size in SIZES:
        t = turn(ETA_Y, size, NUM_CLASSES) * parts
        h = h_continuous(ETA_Y, size, t / NUM_CLASSES)
        yield size, ETA_Y * t / NUM_CLASSES, gamma(ETA_Y, size, NUM_CLASSES, t), h


def _extremes(size: int, ratio: Floats) -> Cases:
    yield f"M = {size}: smallest", ratio.min()
    yield f"M = {size}: largest", ratio.max()
