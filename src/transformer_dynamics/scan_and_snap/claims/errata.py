"""What the paper prints but does not hold (E1-E7), and findings A and B.

Each value tells how far the printed statement is off. The corrected statements are computed in
`theory.errata` and `theory.findings`.
"""

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from transformer_dynamics.scan_and_snap.claims.decoder import REMARK_1
from transformer_dynamics.scan_and_snap.claims.evidence import evidence
from transformer_dynamics.scan_and_snap.claims.growth import FIGURE_3, FIGURE_3_END, integral
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.settings import Mixture
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations
from transformer_dynamics.scan_and_snap.theory.decoder import scanning_end
from transformer_dynamics.scan_and_snap.theory.errata import e1, e2, e3, e5, example_features
from transformer_dynamics.scan_and_snap.theory.frozen import frozen_flow
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    exponent_at_snapping_start,
    phase_times,
    theorem4_drive,
)
from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations, remark_1

Floats = NDArray[np.float64]

SIZES = ((2, 34), (6, 200), (20, 240))
SMALLEST = ((2, 1000, 0.08), (3, 10_000, 0.025), (5, 100_000, 0.008), (10, 1_000_000, 0.0025))
"""K, M and an f_n.f_n' just above sqrt(6/M), the least that Assumption 2 allows."""


def sign_of_e_prime() -> pd.DataFrame:
    """Largest violation of (26), (30) and Lemma 14 by E' = (I+E)^{-1} - I (Appendix D.1)."""
    identities = "F^T (F - F E') = I", "(I - E') F^T = F^dagger", "eigenvalues of E'"
    values = {}
    for num_classes, size in SIZES:
        found = e1(example_features(size, num_classes)).evidence
        printed = [value for name, value in found.items() if name.startswith("printed")]
        for identity, value in zip(identities, printed, strict=True):
            values[f"K = {num_classes}, M = {size}: {identity}"] = value
    return evidence(values)


def late_speed() -> pd.DataFrame:
    """Largest gamma(t) eta_Y t/(K ln(eta_Y t/K)) for t_0 <= t <= 10^4 t_0 (Theorem 1b)."""
    return evidence(
        {
            f"M = {size}": e2(sizes=(size,)).evidence["printed: largest gamma/formula"]
            for size in (100, 1000, 10_000, 1_000_000)
        }
    )


def sign_in_beta() -> pd.DataFrame:
    """Largest error of g_n by (9) with beta_nn' of (88), over the largest |g_n|."""
    return evidence(
        {
            f"K = {num_classes}, M = {size}": e3(example_features(size, num_classes)).evidence[
                "printed: relative error of g_n"
            ]
            for num_classes, size in SIZES
        }
    )


def slower_logits() -> pd.DataFrame:
    """|w_nn/((1-rho) (M-1) h*) - 1| after 50 passes of the original update (43)."""
    values = {}
    for num_classes, size, rho in REMARK_1:
        run = remark_1(num_classes, size, rho, eta_y=0.1, passes=50)
        name = f"K = {num_classes}, M = {size}, rho = {rho:g}"
        values[name] = abs(run.simulated / run.scaled - 1)
    return evidence(values)


def speed_of_the_common_token() -> pd.DataFrame:
    """-zdot_ml/(eta_Z xi_n) of the only common token by (10), which (13) takes for 1."""
    return evidence(
        {
            f"K = {num_classes}": e5(num_classes=num_classes).evidence[
                "(10): -zdot_CT / (eta_Z xi_n)"
            ]
            for num_classes in (2, 5, 10, 20)
        }
    )


def integral_of_the_drive() -> pd.DataFrame:
    """|1/4 ln(C_0 + 4 Gamma(t)) - eta_Z int_0^t xi_n| over the latter, at t = 700 (124), (129)."""
    values = {}
    for c0 in (0.00625, 0.1, 1.0, 10.0):
        for eta_y in (0.5, 5.0):
            setting = FIGURE_3._replace(eta_y=eta_y, c0=c0)
            exact = setting.eta_z * integral(partial(theorem4_drive, setting), FIGURE_3_END)
            printed = float(exponent(setting, FIGURE_3_END, printed=True))
            values[f"C_0 = {c0:g}, eta_Y = {eta_y:g}"] = abs(printed / exact - 1)
    return evidence(values)


def inverted_ratio() -> pd.DataFrame:
    """|B(t_0) by (131) with nu = eta_Z/eta_Y over B(t_0) - 1|, K = C_0 = 1 as in Figure 9."""
    values = {}
    for size in (100, 10_000):
        for nu in (0.1, 0.5, 2.0, 10.0):
            setting = Setting(nu, 1.0, size, 1)
            inverted = setting._replace(eta_y=setting.eta_z, eta_z=setting.eta_y)
            exact = float(exponent(setting, phase_times(setting)[1]))
            form = exponent_at_snapping_start(inverted)
            values[f"M = {size}, eta_Y/eta_Z = {nu:g}"] = abs(form / exact - 1)
    return evidence(values)


def modified_drive() -> pd.DataFrame:
    """xi_n under the original update (7) over that under the modified one (26), same t.

    Attention stands still; f_n.f_n' is just above the least that Assumption 2 allows.
    """
    values = {}
    for num_classes, size, rho in SMALLEST:
        e = equal_correlations(num_classes, rho)
        times = np.array([num_classes / 2, scanning_end(1.0, size, num_classes)])
        true, modified = (
            frozen_flow(e, size, 1.0, times, modified=flag).drive[:, 0] for flag in (False, True)
        )
        for time, value in zip(("K/(2 eta_Y)", "t_0'"), true / modified, strict=True):
            name = f"lambda_1 = {(num_classes - 1) * rho:.3g}, K = {num_classes}, t = {time}"
            values[name] = value
    return evidence(values)


def largest_eigenvalue(mixtures: dict[str, Mixture]) -> pd.DataFrame:
    """K |lambda_1| of E = F^T F - I at Z = 0, for the mixtures of the paper's experiments."""
    values = {}
    for name, mixture in mixtures.items():
        if mixture.in_released_code:
            classes = sequence_classes(mixture)
            check = assumption_2(initial_correlations(classes), classes.vocabulary_size)
            values[name] = check.largest / check.largest_limit
    return evidence(values)
