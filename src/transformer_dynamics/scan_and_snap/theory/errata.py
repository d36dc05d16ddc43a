"""The errata E1-E7: statements of the paper that do not check out, each with its computation."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad

from transformer_dynamics.scan_and_snap.theory.assumptions import require_classes
from transformer_dynamics.scan_and_snap.theory.attention import lemma4_rate
from transformer_dynamics.scan_and_snap.theory.coupling import (
    back_propagated,
    combine,
    correlations,
    drive,
    e_prime,
    leading_coefficients,
    theorem1_coefficients,
    theorem5_decoder,
)
from transformer_dynamics.scan_and_snap.theory.decoder import gamma, snapping_start
from transformer_dynamics.scan_and_snap.theory.evidence import Evidence
from transformer_dynamics.scan_and_snap.theory.growth import (
    Setting,
    exponent,
    exponent_at_snapping_start,
    theorem4_drive,
)
from transformer_dynamics.scan_and_snap.theory.updates import remark_1

Floats = NDArray[np.float64]


def all_errata() -> list[Evidence]:
    """E1 to E7, at settings where each is visible."""
    columns = example_features()
    return [
        e1(columns),
        e2(),
        e3(columns),
        e4(),
        e5(),
        e6(Setting(eta_y=1.0, eta_z=0.5, vocabulary_size=1000, num_classes=10, c0=0.00625)),
        e7(Setting(eta_y=5.0, eta_z=0.5, vocabulary_size=100, num_classes=1)),
    ]


def example_features(vocabulary_size: int = 200, num_classes: int = 6) -> Floats:
    """[M, K] unequal, overlapping f_n >= 0 with |f_n|_2 = 1, the same on every call."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 1, (vocabulary_size, num_classes)) ** 4
    weights *= rng.uniform(0, 1, weights.shape) < 0.5
    return np.asarray(weights / np.linalg.norm(weights, axis=0))


def e1(feature_columns: ArrayLike) -> Evidence:
    """The sign of E' in App. D.1: which one satisfies Lemma 14 and (26)-(30).

    Args:
        feature_columns: [M, K] F.

    Returns:
        The largest violation of each identity under both signs.

    Raises:
        InputError: if the columns are not independent.
    """
    f = np.asarray(feature_columns, dtype=np.float64)
    e, eye = correlations(f), np.eye(f.shape[1])
    numbers: dict[str, float] = {}
    for name in ("corrected", "printed"):
        prime = e_prime(e, printed=name == "printed")
        left = (eye - prime) @ f.T
        eigenvalues = np.linalg.eigvalsh(e)
        numbers |= {
            f"{name}: |F^T (F - F E') - I|": _size(f.T @ (f - f @ prime) - eye),
            f"{name}: |(I - E') F^T - F^dagger|": _size(left - np.linalg.pinv(f)),
            f"{name}: |lambda(E') - lambda/(1 + lambda)|": _size(
                np.linalg.eigvalsh(prime) - np.sort(eigenvalues / (1 + eigenvalues))
            ),
        }
    corrected = [value for name, value in numbers.items() if name.startswith("corrected")]
    printed = [value for name, value in numbers.items() if name.startswith("printed")]
    return Evidence(
        id="E1",
        printed="E' = (I+E)^{-1} - I",
        corrected="E' = I - (I+E)^{-1}",
        evidence=numbers,
        holds=max(corrected) < 1e-12 and min(printed) > 1e-3,
    )


def e2(
    eta_y: float = 1.0, num_classes: int = 10, sizes: tuple[int, ...] = (100, 1000, 10000)
) -> Evidence:
    """The late form of gamma in Theorem 1(b) lacks M in its logarithm.

    Args:
        eta_y: learning rate of Y.
        num_classes: K.
        sizes: vocabulary sizes M.

    Returns:
        Range of gamma(t) over each formula for t from t0 to 10^4 t0.

    Raises:
        InputError: for K > M, M < 4 or eta_Y <= 0.
    """
    ratios: dict[str, list[Floats]] = {"corrected": [], "printed": []}
    for size in sizes:
        t = snapping_start(eta_y, size, num_classes) * np.logspace(0, 4, 200)
        seen = eta_y * t / num_classes
        exact = gamma(eta_y, size, num_classes, t) * seen
        ratios["corrected"].append(exact / np.log(size * seen))
        ratios["printed"].append(exact / np.log(seen))
    numbers = {}
    for name, values in ratios.items():
        numbers[f"{name}: smallest gamma/formula"] = float(np.min(values))
        numbers[f"{name}: largest gamma/formula"] = float(np.max(values))
    return Evidence(
        id="E2",
        printed="gamma(t) = O(K ln(eta_Y t/K)/(eta_Y t)) for t >= t0",
        corrected="gamma(t) = O(K ln(M eta_Y t/K)/(eta_Y t))",
        evidence=numbers,
        holds=bool(np.max(ratios["corrected"]) < 2 < np.max(ratios["printed"])),
    )


def e3(feature_columns: ArrayLike, h: float = 0.01) -> Evidence:
    """The sign of the last term of beta (88), against the gradient of Theorem 5's decoder.

    Args:
        feature_columns: [M, K] F.
        h: h(t/K).

    Returns:
        Largest error of g_n relative to the largest |g_n|, three ways.

    Raises:
        InputError: if the columns are not independent.
    """
    f = np.asarray(feature_columns, dtype=np.float64)
    size, e = len(f), correlations(f)
    exact = back_propagated(theorem5_decoder(f, h), f)
    strength = (size - 1) ** 2 * h / (size - 1 + np.exp(size * h))
    ways = {
        "corrected": theorem1_coefficients(e, size),
        "printed": theorem1_coefficients(e, size, printed=True),
        "leading order": leading_coefficients(e),
    }
    scale = np.linalg.norm(exact, axis=0).max()
    numbers = {
        f"{name}: relative error of g_n": float(
            np.linalg.norm(combine(f, way, strength) - exact, axis=0).max() / scale
        )
        for name, way in ways.items()
    }
    errors = list(numbers.values())
    return Evidence(
        id="E3",
        printed="beta_nn' = q1 E'_nn' + q0 (1 + sum_{k!=n} E'_kn')",
        corrected="beta_nn' = q1 E'_nn' - q0 (1 - sum_{k!=n} E'_kn')",
        evidence=numbers,
        holds=errors[0] < 1e-12 and errors[1] > 1e-4,
    )


def e4(rho: float = 0.72, eta_y: float = 0.1, passes: int = 50) -> Evidence:
    """Remark 1: the unmodified update as a slower modified one.

    Args:
        rho: f_n.f_n' of every pair.
        eta_y: learning rate of Y.
        passes: number of times that each class is seen.

    Returns:
        w_nn and both readings of the claim, with K << M and with K = M.

    Raises:
        InputError: for an impossible rho or eta_Y <= 0.
    """
    few, all_tokens = remark_1(20, 240, rho, eta_y, passes), remark_1(20, 20, rho, eta_y, passes)
    numbers = {
        f"{name}: w_nn {reading}": value
        for name, remark in (("K=20, M=240", few), ("K=M=20", all_tokens))
        for reading, value in remark._asdict().items()
    }
    return Evidence(
        id="E4",
        printed="w_n = (1-rho)(M-1) h*(N/K) zeta_n under (7)",
        corrected="for K = M it is (M-1) h* run at (1-rho) eta_Y; for K < M it is neither",
        evidence=numbers,
        holds=few.simulated > 2 * max(few.scaled, few.slowed)
        and abs(all_tokens.simulated / all_tokens.slowed - 1) < 0.05
        and abs(all_tokens.simulated / all_tokens.scaled - 1) > 0.05,
    )


def e5(vocabulary_size: int = 1000, num_classes: int = 10, common: float = 0.1) -> Evidence:
    """The factor 1/K: (10) and (100) against (13) for a common token with one query.

    Args:
        vocabulary_size: M.
        num_classes: K.
        common: f_nl of the only common token l, equal in all classes.

    Returns:
        Rate of the common token and of a distinct token over xi_n, and what (13) prints.

    Raises:
        InputError: for K >= M, where no token is left to be common.
    """
    require_classes(num_classes + 1, vocabulary_size)
    f = np.zeros((vocabulary_size, num_classes))
    f[0] = common
    f[1 + np.arange(num_classes), np.arange(num_classes)] = np.sqrt(1 - common**2)
    e = correlations(f)
    coefficients = theorem1_coefficients(e, vocabulary_size)
    xi = drive(e, coefficients)[0]
    rate = lemma4_rate(f, coefficients.beta, np.zeros(num_classes, np.int64))[0]
    numbers = {
        "K": float(num_classes),
        "(10): -zdot_CT / (eta_Z xi_n)": float(-rate[0] / xi),
        "(13): -zdot_CT / (eta_Z xi_n)": 1.0,
        "(10): zdot_DT / (eta_Z f_nl^2 xi_n)": float(rate[1] / (xi * f[1, 0] ** 2)),
    }
    return Evidence(
        id="E5",
        printed="zdot_CT = -eta_Z gamma e^{4z}/C_0 = -eta_Z xi_n (13)",
        corrected="zdot_CT = -K (1 - f_nl^2) eta_Z xi_n (100)",
        evidence=numbers,
        holds=bool(abs(-rate[0] / xi - num_classes * (1 - common**2)) < 1e-9),
    )


def e6(setting: Setting, time: float = 700.0) -> Evidence:
    """The integral B_n in (124), (129) and (14) does not start at 0.

    Args:
        setting: rates, sizes and C_0 != 1.
        time: t, in updates.

    Returns:
        B_n(t) three ways, and the printed B_n(0).

    Raises:
        InputError: for settings that the theory does not cover.
    """
    integral = (
        setting.eta_z
        * quad(
            lambda t: float(theorem4_drive(setting, t)),
            0,
            time,
            epsabs=1e-11,
            epsrel=1e-11,
            limit=500,
        )[0]
    )
    right, printed = (float(exponent(setting, time, printed=flag)) for flag in (False, True))
    numbers = {
        "C_0": setting.c0,
        "eta_Z int_0^t xi_n": integral,
        "corrected: B_n(t)": right,
        "printed: B_n(t)": printed,
        "printed: B_n(0)": float(exponent(setting, 0, printed=True)),
    }
    return Evidence(
        id="E6",
        printed="B_n(t) = 1/4 ln(C_0 + 4 Gamma)",
        corrected="B_n(t) = 1/4 ln(1 + 4 Gamma/C_0)",
        evidence=numbers,
        holds=abs(right - integral) < 1e-8 and abs(printed - integral) > 1e-2,
    )


def e7(setting: Setting) -> Evidence:
    """Nu is eta_Y/eta_Z in App. F's text and formulas, eta_Z/eta_Y in Fig. 9's caption.

    Args:
        setting: rates that differ, and sizes.

    Returns:
        B(t0) exactly, and by (131) with either nu; the exponents of the time from which the late
        form exceeds C_0, ln(M eta_Y t/K) >> sqrt(nu C_0/(2K)).

    Raises:
        InputError: for settings that the theory does not cover, or M < 4.
    """
    start = snapping_start(setting.eta_y, setting.vocabulary_size, setting.num_classes)
    exact = float(exponent(setting, start, printed=True))
    inverted = setting._replace(eta_y=setting.eta_z, eta_z=setting.eta_y)
    late, wrong = exponent_at_snapping_start(setting), exponent_at_snapping_start(inverted)
    nu = setting.nu
    numbers = {
        "eta_Y/eta_Z": nu,
        "B(t0)": exact,
        "(131) with nu = eta_Y/eta_Z": late,
        "(131) with nu = eta_Z/eta_Y": wrong,
        "ln(M eta_Y t/K) where the late term equals C_0": float(
            np.sqrt(nu * setting.c0 / (2 * setting.num_classes))
        ),
        "1/sqrt(2 nu), nu = eta_Z/eta_Y": float(1 / np.sqrt(2 / nu)),
        "1/sqrt(2 nu), nu = eta_Y/eta_Z": float(1 / np.sqrt(2 * nu)),
    }
    return Evidence(
        id="E7",
        printed="nu = eta_Z/eta_Y (caption of Fig. 9, exp(1/sqrt(2 nu)))",
        corrected="nu = eta_Y/eta_Z (text, (130)-(133), panel label)",
        evidence=numbers,
        holds=abs(late - exact) < 0.2 * abs(wrong - exact),
    )


def _size(matrix: Floats) -> float:
    return float(np.abs(matrix).max())
