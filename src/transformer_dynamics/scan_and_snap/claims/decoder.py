"""The decoder while the attention stands still (Section 3, Appendix D)."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from transformer_dynamics.scan_and_snap.claims.evidence import deviation, evidence
from transformer_dynamics.scan_and_snap.theory.coupling import correlations
from transformer_dynamics.scan_and_snap.theory.decoder import (
    gamma,
    gamma_peak,
    h_continuous,
    h_steps,
    h_time,
    omega_1,
    prediction_error,
    scanning_end,
    snapping_start,
)
from transformer_dynamics.scan_and_snap.theory.errata import example_features
from transformer_dynamics.scan_and_snap.theory.integration import integrate
from transformer_dynamics.scan_and_snap.theory.predictions import (
    lemma5_logits,
    lemma5_prediction,
    q1,
)
from transformer_dynamics.scan_and_snap.theory.updates import logits, remark_1, simulate

Floats = NDArray[np.float64]

REMARK_1 = ((10, 1000, 0.1), (10, 1000, 0.5), (20, 240, 0.72), (20, 20, 0.72))
"""K, M and rho = f_n.f_n' of every pair."""
FIGURE_8 = {50: (0.1, 0.2, 0.5, 1.0, 2.0), 1000: (0.2, 0.5, 1.0, 2.0, 4.0)}
"""eta_Y of each curve, by M."""
SIZES = (30, 100, 1000, 10_000)
ETA_Y, NUM_CLASSES = 0.5, 10


def decoupling() -> pd.DataFrame:
    """Largest |w_n - (M-1) h*(N_n) zeta_n| over the largest |w_n|, classes in random order (26)."""
    values = {}
    for num_classes, size in ((2, 34), (6, 200), (20, 240)):
        e = correlations(example_features(size, num_classes))
        order = np.random.default_rng(0).integers(num_classes, size=400)
        run = simulate(e, size, ETA_Y, order, modified=True, recorded=[400])
        h = h_steps(ETA_Y, size, 400)[np.bincount(order, minlength=num_classes)]
        expected = np.array([lemma5_logits(h[n], size, n) for n in range(num_classes)])
        values[f"K = {num_classes}, M = {size}"] = deviation(logits(run, e)[0], expected)
    return evidence(values)


def one_class() -> pd.DataFrame:
    """Largest relative deviation of the simulated w_n and alpha_n from (31) and (32), one class."""
    values = {}
    for size, eta_y in ((4, 0.3), (100, 0.3), (100, 2.0), (1000, 1.0)):
        run = simulate([[0.0]], size, eta_y, np.zeros(200, np.int64), modified=True)
        found, h = logits(run, [[0.0]])[:, 0], h_steps(eta_y, size, 200)
        name = f"M = {size}, eta_Y = {eta_y:g}"
        values[f"{name}: w_n"] = deviation(found, lemma5_logits(h, size, 0))
        values[f"{name}: alpha_n"] = deviation(
            softmax(found, axis=-1), lemma5_prediction(h, size, 0)
        )
    return evidence(values)


def effective_rate() -> pd.DataFrame:
    """w_nn under the original update (7), over (M-1) h* run at (1-rho) eta_Y (Remark 1)."""
    values = {}
    for num_classes, size, rho in REMARK_1:
        run = remark_1(num_classes, size, rho, eta_y=0.1, passes=50)
        values[f"K = {num_classes}, M = {size}, rho = {rho:g}"] = run.simulated / run.slowed
    return evidence(values)


def continuous_solution() -> pd.DataFrame:
    """Largest |h(s) by (45) - h(s) by integrating (44)| over the largest h."""
    values = {}
    for size, eta_y in ((2, 1.0), (50, 0.1), (1000, 4.0), (100_000, 0.5)):
        times = np.linspace(0, 60 / eta_y, 40)
        slope = partial(_slope_of_mh, size, eta_y)
        found = integrate(slope, np.zeros(1), times, tolerance=1e-13)[:, 0] / size
        values[f"M = {size}, eta_Y = {eta_y:g}"] = deviation(
            h_continuous(eta_y, size, times), found
        )
    return evidence(values)


def largest_gap() -> pd.DataFrame:
    """Largest M (h*(s) - h(s))/eta_Y for 0 < s <= 1000/eta_Y, rates of Figure 8 (Lemma 7)."""
    return evidence({name: gap.max() for name, gap in _figure_8_gaps(1000)})


def smallest_gap() -> pd.DataFrame:
    """Smallest M (h*(s) - h(s))/eta_Y for 0 < s <= 1000/eta_Y, rates of Figure 8 (Lemma 7)."""
    return evidence({name: gap[1:].min() for name, gap in _figure_8_gaps(1000)})


def final_gap() -> pd.DataFrame:
    """h* - h at s = 1000/eta_Y over its largest value, rates of Figure 8 (Lemma 7b)."""
    return evidence({name: gap[-1] / gap.max() for name, gap in _figure_8_gaps(1000)})


def time_shift() -> pd.DataFrame:
    """Least c with h(s + c) >= h*(s) for all s <= ln(M)/eta_Y, in updates (Lemma 7a)."""
    values = {}
    for size, rates in FIGURE_8.items():
        for eta_y in rates:
            steps = int(np.log(size) / eta_y)
            shift = h_time(eta_y, size, h_steps(eta_y, size, steps)) - np.arange(steps + 1)
            values[f"M = {size}, eta_Y = {eta_y:g}"] = shift.max()
    return evidence(values)


def crossing() -> pd.DataFrame:
    """omega_1 over ln ln M/ln M, with exp(x) = (M-1) x at x = (1 + omega_1) ln M (Lemma 8)."""
    sizes = (*SIZES, 10**6, 10**9)
    return evidence({f"M = {m}": omega_1(m) * np.log(m) / np.log(np.log(m)) for m in sizes})


def early_gamma() -> pd.DataFrame:
    """Gamma(t) over eta_Y t/K for t <= t_0' (Lemma 9)."""
    return _extremes((size, _gamma(size, t) / _seen(t)) for size, t in _until_scanning_end())


def early_h() -> pd.DataFrame:
    """h(t/K) over eta_Y t/(M K) for t <= t_0' (Lemma 9)."""
    return _extremes((size, size * _h(size, t) / _seen(t)) for size, t in _until_scanning_end())


def late_gamma() -> pd.DataFrame:
    """Gamma(t) over K ln(M eta_Y t/K)/(eta_Y t) for t_0 <= t <= 10^5 t_0 (Lemma 9)."""
    return _extremes(
        (size, _gamma(size, t) * _seen(t) / np.log(size * _seen(t)))
        for size, t in _from_snapping_start()
    )


def late_h() -> pd.DataFrame:
    """h(t/K) over ln(M eta_Y t/K)/M for t_0 <= t <= 10^5 t_0 (Lemma 9)."""
    return _extremes(
        (size, size * _h(size, t) / np.log(size * _seen(t))) for size, t in _from_snapping_start()
    )


def turning_time() -> pd.DataFrame:
    """Time at which gamma is largest, over t_0' = K ln M/eta_Y (Lemma 9)."""
    return evidence(
        {
            f"M = {m}, K = {k}, eta_Y = {eta:g}": gamma_peak(eta, m, k).time
            / scanning_end(eta, m, k)
            for m in SIZES
            for k, eta in ((1, 4.0), (10, 0.5))
        }
    )


def updates_to_error() -> pd.DataFrame:
    """Updates until |x_{T+1} - alpha_n|_2 <= eps, over K/(eps eta_Y) ln(M/eps) (Corollary 1)."""
    values = {}
    for size in SIZES:
        norms = np.sqrt(q1(size)) * prediction_error(h_steps(ETA_Y, size, 4000), size)
        for eps in (0.1, 0.01, 0.001):
            seen = int(
                (norms > eps).sum()
            )  # per class, so that the number of updates is K times it
            values[f"M = {size}, eps = {eps:g}"] = seen * eps * ETA_Y / np.log(size / eps)
    return evidence(values)


def _slope_of_mh(size: int, eta_y: float, _time: float, mh: Floats) -> Floats:
    """Time derivative of M h (44)."""
    return np.asarray(size * eta_y / (size - 1 + np.exp(mh)))


def _figure_8_gaps(until: float) -> Iterator[tuple[str, Floats]]:
    """Name and M (h* - h)/eta_Y of each curve of Figure 8, for s up to some `until`/eta_Y."""
    for size, rates in FIGURE_8.items():
        for eta_y in rates:
            s = np.arange(int(until / eta_y) + 1)
            gap = h_steps(eta_y, size, s[-1]) - h_continuous(eta_y, size, s)
            yield f"M = {size}, eta_Y = {eta_y:g}", size / eta_y * gap


def _gamma(size: int, times: Floats) -> Floats:
    return gamma(ETA_Y, size, NUM_CLASSES, times)


def _h(size: int, times: Floats) -> Floats:
    return h_continuous(ETA_Y, size, times / NUM_CLASSES)


def _seen(times: Floats) -> Floats:
    return ETA_Y * times / NUM_CLASSES


def _until_scanning_end() -> Iterator[tuple[int, Floats]]:
    for size in SIZES:
        yield size, scanning_end(ETA_Y, size, NUM_CLASSES) * np.linspace(0.01, 1, 100)


def _from_snapping_start() -> Iterator[tuple[int, Floats]]:
    for size in SIZES:
        yield size, snapping_start(ETA_Y, size, NUM_CLASSES) * np.logspace(0, 5, 100)


def _extremes(ratios: Iterator[tuple[int, Floats]]) -> pd.DataFrame:
    values = {}
    for size, ratio in ratios:
        values[f"M = {size}: smallest"] = ratio.min()
        values[f"M = {size}: largest"] = ratio.max()
    return evidence(values)
