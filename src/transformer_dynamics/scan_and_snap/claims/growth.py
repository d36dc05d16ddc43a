"""Theorem 4 and Appendix F: how far distinct tokens grow, in closed form (Figures 3 and 9).

B_n is the integral from 0 throughout; what is printed instead is the subject of erratum E6.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.attention_flow import (
    ETA_Y,
    FAST,
    SINGLE,
    classes_within,
)
from transformer_dynamics.scan_and_snap.theory.attention_flow import attention_flow
from transformer_dynamics.scan_and_snap.theory.coupling import features
from transformer_dynamics.scan_and_snap.theory.decoder import gamma
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    cumulative_gamma,
    early_exponent,
    exponent,
    growth_limit,
    late_exponent,
    phase_times,
    theorem4_setting,
)

Floats = NDArray[np.float64]

FIGURE_3 = Setting(eta_y=1.0, eta_z=0.5, vocabulary_size=1000, num_classes=10)
FIGURE_3_RATES = (0.5, 1.0, 2.0, 5.0)
FIGURE_3_END = 700.0
C0 = (0.00625, 1.0)
"""Values of C_0, which the paper does not state: the one that fits Figure 3's axis, and one without
effect."""
FIGURE_9 = {(100, 10.0): (0.5, 1, 2, 4, 8), (10_000, 1.0): (0.5, 1, 2, 4, 8)}
"""Learning rates eta_Z of the curves of Figure 9, by M and nu."""


@evidence
def cumulative() -> Cases:
    """Measure the error of the closed form (128) of Gamma over its integral.

    The value is |(eta_Z/eta_Y) K (M-1)^2 h^2/2 - int eta_Z gamma| over the latter.
    """
    for name, setting in _figure_3_settings():
        sizes = setting.eta_y, setting.vocabulary_size, setting.num_classes
        for time in (FIGURE_3_END / 10, FIGURE_3_END):
            area = integral(partial(gamma, *sizes), time)
            deviation = cumulative_gamma(setting, time) / (setting.eta_z * area) - 1
            yield f"{name}, t = {time:g}", abs(deviation)


@evidence
def branches() -> Cases:
    """Measure exp(2 B_n) by (14) over that of (129), where they differ most.

    One value is for the times up to t_0', one for those from t_0 on.
    """
    for name, setting in _figure_3_settings(min(C0)):
        early, late = phase_times(setting)
        for phase, form, times in (
            ("while scanning", early_exponent, early * np.linspace(0, 1, 100)),
            ("while snapping", late_exponent, late * np.logspace(0, 5, 100)),
        ):
            gap = form(setting, times) - exponent(setting, times, printed=True)
            yield f"{name}, {phase}", np.exp(2 * gap[np.abs(gap).argmax()])


@evidence
def scanning_pace() -> Cases:
    """Measure the largest d ln chi/d ln t for t <= t_0', chi = exp(2 B_n)."""
    for name, setting in _settings_with_both_c0():
        log_t = np.log(phase_times(setting)[0]) + np.linspace(-5, 0, 501)
        slope = np.gradient(2 * exponent(setting, np.exp(log_t)), log_t)
        yield name, slope.max()


@evidence
def snapping_pace() -> Cases:
    """Measure the growth of chi = exp(2 B_n) over that of ln(M eta_Y t/K) while snapping.

    The times are t_0 and 10^5 t_0.
    """
    for name, setting in _settings_with_both_c0():
        times = phase_times(setting)[1] * np.array([1, 1e5])
        chi = growth_limit(setting, times)
        log = np.log(setting.vocabulary_size * setting.eta_y * times / setting.num_classes)
        yield name, (chi[1] / chi[0]) / (log[1] / log[0])


@evidence
def final_growth() -> Cases:
    """Measure the growth factor chi at t = 700 over that at the next larger eta_Y."""
    for c0 in C0:
        grown = [
            (name, float(growth_limit(setting, FIGURE_3_END)))
            for name, setting in _figure_3_settings(c0)
        ]
        for (slow, chi), (fast, other) in pairwise(grown):
            yield f"C_0 = {c0:g}, {slow} over {fast}", chi / other


@evidence
def late_growth() -> Cases:
    """Measure the smallest B_n at eta_Y over that at 2 eta_Y, for t from the later t_0.

    The learning rate eta_Z is the same.
    """
    for name, setting in _settings_with_both_c0():
        times = phase_times(setting)[1] * np.logspace(0, 5, 100)
        fast = setting._replace(eta_y=2 * setting.eta_y)
        ratio = exponent(setting, times) / exponent(fast, times)
        yield name, ratio.min()


@evidence
def faster_rates() -> Cases:
    """Measure the smallest B_n at twice both rates over that at the rates.

    The times are the same, 0 < t <= 10^5 t_0.
    """
    for name, setting in _settings_with_both_c0():
        times = phase_times(setting)[1] * np.logspace(-3, 5, 200)
        both = setting._replace(eta_y=2 * setting.eta_y, eta_z=2 * setting.eta_z)
        ratio = exponent(both, times) / exponent(setting, times)
        yield name, ratio.min()


@evidence
def growth_at_transition() -> Cases:
    """Measure how B_n(t_0) differs between the curves of a panel of Figure 9 (131).

    The value is |B_n(t_0) of each curve over that of the first one of its panel - 1|.
    """
    for (size, nu), rates in FIGURE_9.items():
        settings = [Setting(nu * eta_z, eta_z, size, 1) for eta_z in rates]
        grown = [exponent(setting, phase_times(setting)[1]) for setting in settings]
        for eta_z, b in zip(rates, grown, strict=True):
            yield f"M = {size}, nu = {nu:g}, eta_Z = {eta_z:g}", abs(b / grown[0] - 1)


@evidence
def late_form() -> Cases:
    """Measure B_n(t) over its late form (132), from 10^5 t_0 on.

    The form is 1/2 ln ln(M eta_Y t/K) + 1/4 ln(2K (M-1)^2/(nu M^2)).
    """
    for (size, nu), rates in FIGURE_9.items():
        for eta_z in rates[::2]:
            setting = Setting(nu * eta_z, eta_z, size, 1)
            for decades in (5, 50):
                time = phase_times(setting)[1] * 10.0**decades
                log = np.log(size * setting.eta_y * time)
                form = np.log(log) / 2 + np.log(2 * (1 - 1 / size) ** 2 / nu) / 4
                name = f"M = {size}, nu = {nu:g}, eta_Z = {eta_z:g}, 10^{decades} t_0"
                yield name, exponent(setting, time) / form


@evidence
def order_of_growth() -> Cases:
    """Measure B_n(t) over its order (133), at 10^50 and 10^200 times t_0.

    The order is ln ln(M eta_Z nu t/K) - ln(nu/K).
    """
    for nu in (0.1, 1.0, 10.0):
        for num_classes in (1, 10):
            setting = Setting(nu, 1.0, 1000, num_classes)
            for decades in (50, 200):
                time = phase_times(setting)[1] * 10.0**decades
                log = np.log(setting.vocabulary_size * setting.eta_y * time / num_classes)
                form = np.log(log) - np.log(nu / num_classes)
                name = f"nu = {nu:g}, K = {num_classes}, 10^{decades} t_0"
                yield name, exponent(setting, time) / form


@evidence
def growth_while_scanning() -> Cases:
    """Measure the exponent of chi_l0(t) by Eq. 10 over its lower bound by Theorem 4.

    The bound is f_nl0^2(0)/2 ln(1 + 2 eta_Y eta_Z t^2/rho_0^4), with one common token, for which
    rho_0 = 1/f_nl at the start, and with B_n(0) = 0 (erratum E6).
    """
    classes = classes_within(SINGLE)
    dominant = classes.support[0, -1]
    share = features(classes, np.zeros((1, classes.vocabulary_size)))[dominant, 0]
    for ratio in FAST:
        setting = theorem4_setting(classes, ETA_Y, ETA_Y / ratio)
        times = phase_times(setting)[0] * np.array([0.25, 0.5, 1])
        flow = attention_flow(classes, ETA_Y, setting.eta_z, times).attention_logits
        rho = setting.c0 * setting.num_classes
        bound = share**2 / 2 * np.log1p(2 * ETA_Y * setting.eta_z * times**2 / rho)
        parts = ("a quarter of the scanning", "half of the scanning", "the scanning")
        for part, value in zip(parts, 2 * flow[:, 0, dominant] / bound, strict=True):
            yield f"eta_Y/eta_Z {ratio:g}, after {part}", value


@evidence
def exponent_over_that_of_10() -> Cases:
    """Measure B_n by Theorem 4 over B_n along Eq. 10, with one common token."""
    classes = classes_within(SINGLE)
    for ratio in FAST:
        setting = theorem4_setting(classes, ETA_Y, ETA_Y / ratio)
        early, late = phase_times(setting)
        for part, time in {"t_0'": early, "t_0": late, "1,000 t_0": 1000 * late}.items():
            flow = attention_flow(classes, ETA_Y, setting.eta_z, np.array([time]))
            value = exponent(setting, time) / flow.exponents[0, 0]
            yield f"eta_Y/eta_Z {ratio:g}, at {part}", value


def _figure_3_settings(c0: float = 1.0) -> Iterator[tuple[str, Setting]]:
    """Yield name and setting of each curve of Figure 3."""
    for eta_y in FIGURE_3_RATES:
        yield f"eta_Y = {eta_y:g}", FIGURE_3._replace(eta_y=eta_y, c0=c0)


def _settings_with_both_c0() -> Iterator[tuple[str, Setting]]:
    """Yield name and setting of each curve of Figure 3, with both values of C_0."""
    for c0 in C0:
        for name, setting in _figure_3_settings(c0):
            yield f"C_0 = {c0:g}, {name}", setting


def integral(function: Callable[[float], ArrayLike], end: float) -> float:
    """Return the integral of a function of time from 0 to `end`."""
    return float(
        quad(lambda t: float(np.asarray(function(t))), 0, end, epsabs=0, epsrel=1e-12, limit=500)[0]
    )
