"""Printed statements that do not hold (E1-E7, E9), and findings A and B.

Each value tells how far the printed statement is off; the registry says what holds instead.
"""

from functools import partial

import numpy as np

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.decoder import least_shift
from transformer_dynamics.scan_and_snap.claims.examples import OVERLAPPING
from transformer_dynamics.scan_and_snap.claims.growth import FIGURE_3, FIGURE_3_END, integral
from transformer_dynamics.scan_and_snap.settings.training import Mixture
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.attention_flow import lemma4_rate
from transformer_dynamics.scan_and_snap.theory.coupling import (
    combine_features,
    correlations,
    drive,
    e_prime,
    example_features,
    feature_gradient,
    initial_correlations,
    theorem1_coefficients,
    theorem5_decoder,
)
from transformer_dynamics.scan_and_snap.theory.decoder import gamma, scanning_end, snapping_start
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    late_exponent,
    phase_times,
    theorem4_drive,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory.updates import (
    equal_correlations,
    frozen_flow,
    remark_1,
)

SMALLEST = ((2, 1000, 0.08), (3, 10_000, 0.025), (5, 100_000, 0.008), (10, 1_000_000, 0.0025))
"""Sizes K and M, and an f_n.f_n' just above sqrt(6/M), the least that Assumption 2 allows."""
REMARK_1 = ((2, 1000, 0.2), (3, 1000, 0.16), (4, 1000, 0.08), (10, 1000, 0.5), (20, 20, 0.72))
"""Sizes K and M, and rho = f_n.f_n' of every pair; Assumption 2 holds for the first three."""


@evidence
def sign_of_e_prime() -> Cases:
    """Measure the largest violation of (26), (30) and Lemma 14 by E' as printed.

    Appendix D.1 prints E' = (I+E)^{-1} - I.
    """
    for num_classes, size in OVERLAPPING:
        f, eye = example_features(size, num_classes), np.eye(num_classes)
        e = correlations(f)
        prime, eigenvalues = e_prime(e, printed=True), np.linalg.eigvalsh(e)
        for identity, violation in {
            "F^T (F - F E') = I": f.T @ (f - f @ prime) - eye,
            "(I - E') F^T = F^dagger": (eye - prime) @ f.T - np.linalg.pinv(f),
            "eigenvalues of E'": np.linalg.eigvalsh(prime)
            - np.sort(eigenvalues / (1 + eigenvalues)),
        }.items():
            yield f"K = {num_classes}, M = {size}: {identity}", np.abs(violation).max()


@evidence
def late_speed() -> Cases:
    """Measure gamma(t) over its late form as printed, at the largest (Theorem 1b).

    The value is the largest gamma(t) eta_Y t/(K ln(eta_Y t/K)) for t_0 <= t <= 10^4 t_0.
    """
    for size in (10**2, 10**4, 10**6, 10**12):
        times = snapping_start(1.0, size, 10) * np.logspace(0, 4, 200)
        seen = times / 10
        yield f"M = {size:.0e}", (gamma(1.0, size, 10, times) * seen / np.log(seen)).max()


@evidence
def sign_in_beta() -> Cases:
    """Measure the largest error of g_n by (9) with beta_nn' of (88), over the largest |g_n|."""
    h = 0.01
    for num_classes, size in OVERLAPPING:
        f = example_features(size, num_classes)
        exact = feature_gradient(theorem5_decoder(f, h), f)
        strength = (size - 1) ** 2 * h / (size - 1 + np.exp(size * h))
        printed = theorem1_coefficients(correlations(f), size, printed=True)
        error = np.linalg.norm(combine_features(f, printed, strength) - exact, axis=0).max()
        yield f"K = {num_classes}, M = {size}", error / np.linalg.norm(exact, axis=0).max()


@evidence
def slower_logits() -> Cases:
    """Measure how far w_nn lags behind (M-1) h* under the original update (43).

    The lag is over rho (M-1) h*.
    """
    for num_classes, size, rho in REMARK_1:
        run = remark_1(num_classes, size, rho, eta_y=0.1, passes=50)
        alone = run.scaled / (1 - rho)
        name = f"K = {num_classes}, M = {size}, rho = {rho:g}"
        yield name, (alone - run.simulated) / (alone - run.scaled)


def common_token_speed(num_classes: int) -> float:
    """Return -zdot_ml/(eta_Z xi_n) of the only common token of one query by (10).

    Each of the K classes has f_nl = 0.1 on it and the rest on a token of its own.
    """
    own = np.arange(num_classes)
    f = np.zeros((1000, num_classes))
    f[0] = 0.1
    f[1 + own, own] = np.sqrt(1 - 0.1**2)
    e = correlations(f)
    coefficients = theorem1_coefficients(e, len(f))
    rate = lemma4_rate(f, coefficients.beta, np.zeros(num_classes, np.int64))
    return float(-rate[0, 0] / drive(e, coefficients)[0])


@evidence
def speed_of_the_common_token() -> Cases:
    """Measure -zdot_ml/(eta_Z xi_n) of the only common token by (10), which (13) takes for 1."""
    for num_classes in (2, 5, 10, 20):
        yield f"K = {num_classes}", common_token_speed(num_classes)


@evidence
def integral_of_the_drive() -> Cases:
    """Measure the error of 1/4 ln(C_0 + 4 Gamma(t)) for the integral of the drive (124), (129).

    The value is |1/4 ln(C_0 + 4 Gamma(t)) - eta_Z int_0^t xi_n| over the latter, at t = 700.
    """
    for c0 in (0.00625, 0.1, 1.0, 10.0):
        for eta_y in (0.5, 5.0):
            setting = FIGURE_3._replace(eta_y=eta_y, c0=c0)
            exact = setting.eta_z * integral(partial(theorem4_drive, setting), FIGURE_3_END)
            printed = float(exponent(setting, FIGURE_3_END, printed=True))
            yield f"C_0 = {c0:g}, eta_Y = {eta_y:g}", abs(printed / exact - 1)


@evidence
def inverted_ratio() -> Cases:
    """Measure the error of B(t_0) by (131) with the inverted ratio nu = eta_Z/eta_Y.

    The value is |B(t_0) by (131) over B(t_0) - 1|, K = C_0 = 1 as in Figure 9.
    """
    for size in (100, 10_000):
        for nu in (0.1, 0.5, 2.0, 10.0):
            setting = Setting(nu, 1.0, size, 1)
            inverted = setting._replace(eta_y=setting.eta_z, eta_z=setting.eta_y)
            exact = float(exponent(setting, phase_times(setting)[1]))
            form = late_exponent(inverted, phase_times(inverted)[1])
            yield f"M = {size}, eta_Y/eta_Z = {nu:g}", abs(form / exact - 1)


@evidence
def lasting_shift() -> Cases:
    """Measure the growth of the least c with h(s + c) >= h*(s) per factor e of s (Remark 2).

    From s = 10^3/eta_Y to 10^4/eta_Y.
    """
    for size in (50, 1000):
        for eta_y in (0.1, 1.0):
            last = int(1e4 / eta_y)
            shift = least_shift(eta_y, size, last)
            growth = (shift[last] - shift[last // 10]) / np.log(10)
            yield f"M = {size}, eta_Y = {eta_y:g}", growth


@evidence
def modified_drive() -> Cases:
    """Measure xi_n under the original update (7) over that under the modified one (26), same t.

    Attention stands still; f_n.f_n' is just above the least that Assumption 2 allows.
    """
    for num_classes, size, rho in SMALLEST:
        e = equal_correlations(num_classes, rho)
        times = np.array([num_classes / 2, scanning_end(1.0, size, num_classes)])
        true, modified = (
            frozen_flow(e, size, 1.0, times, modified=flag)[:, 0] for flag in (False, True)
        )
        lambda_1 = f"lambda_1 = {(num_classes - 1) * rho:.3g}"
        parts = ("at t = K/(2 eta_Y)", "at the end of scanning")
        for part, value in zip(parts, true / modified, strict=True):
            yield f"{lambda_1}, K = {num_classes}, {part}", value


@evidence
def largest_eigenvalue(mixtures: dict[str, Mixture]) -> Cases:
    """Measure K |lambda_1| of E = F^T F - I at Z = 0, for the paper's own mixtures."""
    for name, mixture in mixtures.items():
        if mixture.is_released:
            classes = sequence_classes(mixture)
            check = assumption_2(initial_correlations(classes), classes.vocabulary_size)
            yield name, check.largest / check.largest_limit
