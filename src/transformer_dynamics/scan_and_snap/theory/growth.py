"""Theorem 4 and Appendix F: how far distinct tokens have grown, in closed form.

With one common token and normalisers ~ rho_0 (13), xi_n = gamma/(C_0 + 4 Gamma) (123), where

    Gamma(t) = eta_Z int_0^t gamma = (eta_Z/eta_Y) K (M-1)^2 h^2(t/K)/2          (128)
    B_n(t)   = eta_Z int_0^t xi_n  = 1/4 ln(1 + 4 Gamma/C_0)
    printed:                         1/4 ln(C_0 + 4 Gamma)                       (124), (129)

The printed form differs by the constant 1/4 ln C_0 and does not start at 0 unless C_0 = 1.

In the functions `setting` has rates, sizes and C_0, and `times` [...] are t, in updates. What the
theory does not cover raises `InputError`, see `Setting.check`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import (
    require_classes,
    require_rate,
    require_times,
)
from transformer_dynamics.scan_and_snap.theory.coupling import initial_correlations
from transformer_dynamics.scan_and_snap.theory.decoder import (
    gamma,
    h_continuous,
    scanning_end,
    snapping_start,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import SequenceClasses

Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """Learning rates of Y and Z, sizes M and K, and the constant of Theorem 4's closed forms."""

    eta_y: float
    eta_z: float
    vocabulary_size: int
    num_classes: int
    c0: float = 1.0
    """Constant C_0 = rho_0^4/K."""

    @property
    def nu(self) -> float:
        """Ratio nu = eta_Y/eta_Z, as Appendix F's text defines it (Fig. 9's caption inverts it)."""
        return self.eta_y / self.eta_z

    def check(self) -> None:
        """Refuse rates <= 0, K > M, M < 2 and C_0 <= 0."""
        require_rate(eta_Y=self.eta_y, eta_Z=self.eta_z)
        require_classes(self.num_classes, self.vocabulary_size)
        if not 0 < self.c0 < np.inf:
            raise InputError(f"C_0 = rho_0^4/K must be positive (Theorem 4), but it is {self.c0}")


def theorem4_setting(classes: SequenceClasses, eta_y: float, eta_z: float) -> Setting:
    """Return rates, sizes and C_0 = rho_0^4/K, rho_0 from f_n.f_n' = 1/rho_0^2 (13) at Z = 0."""
    overlap, num_classes = initial_correlations(classes)[0, 1], len(classes.support)
    c0 = float(1 / (num_classes * overlap**2))
    return Setting(eta_y, eta_z, classes.vocabulary_size, num_classes, c0)


def cumulative_gamma(setting: Setting, times: ArrayLike) -> Floats:
    """Return Gamma(t) = eta_Z int_0^t gamma (128)."""
    setting.check()
    size, num_classes = setting.vocabulary_size, setting.num_classes
    h = h_continuous(setting.eta_y, size, require_times(times) / num_classes)
    return np.asarray(num_classes * (size - 1) ** 2 * h**2 / (2 * setting.nu))


def exponent(setting: Setting, times: ArrayLike, *, printed: bool = False) -> Floats:
    """Return B_n(t) of Theorem 4, or (129) as `printed` instead of the integral from 0."""
    grown = 4 * cumulative_gamma(setting, times)
    if printed:
        return np.asarray(np.log(setting.c0 + grown) / 4)
    return np.asarray(np.log1p(grown / setting.c0) / 4)


def theorem4_drive(setting: Setting, times: ArrayLike) -> Floats:
    """Return xi_n(t) = gamma/(C_0 + 4 Gamma) (123)."""
    grown = setting.c0 + 4 * cumulative_gamma(setting, times)
    strength = gamma(setting.eta_y, setting.vocabulary_size, setting.num_classes, times)
    return np.asarray(strength / grown)


def growth_limit(setting: Setting, times: ArrayLike) -> Floats:
    """Return exp(2 B_n(t)), the upper bound of all growth factors chi_l(t) (12) of Fig. 3."""
    return np.asarray(np.exp(2 * exponent(setting, times)))


def early_exponent(setting: Setting, times: ArrayLike) -> Floats:
    """Return 1/4 ln(C_0 + 2 (M-1)^2/(K M^2) eta_Y eta_Z t^2): B_n(t) by (14) for t < t0'."""
    setting.check()
    t = require_times(times)
    ratio = (1 - 1 / setting.vocabulary_size) ** 2 / setting.num_classes
    return np.asarray(np.log(setting.c0 + 2 * ratio * setting.eta_y * setting.eta_z * t**2) / 4)


def late_exponent(setting: Setting, times: ArrayLike) -> Floats:
    """Return [...] B_n(t) by (14) for t >= t0, as printed.

    It is 1/4 ln(C_0 + 2K (M-1)^2/M^2 (eta_Z/eta_Y) ln^2(M eta_Y t/K)). Raise InputError for
    settings that the theory does not cover, or times that are not positive.
    """
    setting.check()
    t = require_times(times)
    if not np.all(t > 0):
        raise InputError("the late form of (14) holds for t >= t0 > 0")
    size, num_classes = setting.vocabulary_size, setting.num_classes
    log = np.log(size * setting.eta_y * t / num_classes)
    if not np.all(log >= 0):
        raise InputError("the late form of (14) needs M eta_Y t/K >= 1; it is for t >= t0")
    scale = 2 * num_classes * (1 - 1 / size) ** 2 / setting.nu
    return np.asarray(np.log(setting.c0 + scale * np.square(log)) / 4)


def phase_times(setting: Setting) -> tuple[float, float]:
    """Return t0' and t0 of a setting, end of scanning and start of snapping, in updates."""
    setting.check()
    sizes = (setting.eta_y, setting.vocabulary_size, setting.num_classes)
    return scanning_end(*sizes), snapping_start(*sizes)
