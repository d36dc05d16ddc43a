"""The attention logits Z under Lemma 4 (10), and Theorem 3 on distinct tokens.

    zdot_m = eta_Z gamma sum_{n in psi^{-1}(m)} diag(f_n) sum_{n'!=n} beta_nn' (f_n f_n^T - I) f_n'

so a distinct token l of n has zdot_ml = eta_Z f_nl^2 xi_n (98). The lemma adds up the classes of a
query although gamma(t) counts single-sample updates, of which only one in K is of class n;
`sampled=True` puts that 1/K in.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import require_rate
from transformer_dynamics.scan_and_snap.theory.coupling import (
    correlations,
    drive,
    features,
    theorem1_coefficients,
)
from transformer_dynamics.scan_and_snap.theory.decoder import gamma
from transformer_dynamics.scan_and_snap.theory.integration import (
    integrate,
    require_ascending_times,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import SequenceClasses

Floats = NDArray[np.float64]


def lemma4_rate(feature_columns: ArrayLike, beta: ArrayLike, query: ArrayLike) -> Floats:
    """Return [L, M] zdot_m / (eta_Z gamma), the right-hand side of (10)."""
    f, b = np.asarray(feature_columns, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    psi = np.asarray(query, dtype=np.int64)
    toward = f @ b.T  # column n: sum_n' beta_nn' f_n'
    per_class = f * (f * (f * toward).sum(axis=0) - toward)
    rate = np.zeros((psi.max() + 1, len(f)))
    np.add.at(rate, psi, per_class.T)
    return rate


class AttentionFlow(NamedTuple):
    """A solution of (10)."""

    attention_logits: Floats
    """[T, L, M] Rows z_m of Z."""
    exponents: Floats
    """[T, K] Exponent B_n(t) = eta_Z int_0^t xi_n."""
    drive: Floats
    """[T, K] Drive xi_n(t)."""


def attention_flow(
    classes: SequenceClasses,
    eta_y: float,
    eta_z: float,
    times: ArrayLike,
    *,
    start: ArrayLike | None = None,
    sampled: bool = False,
) -> AttentionFlow:
    """Integrate (10) with gamma(t) in closed form and the exact beta of Theorem 1.

    Return Z, B_n and xi_n at [T] ascending times, in updates, from `start` [L, M] Z(0), by default
    0. If `sampled`, each class's term, also that of B_n, has the sampling probability 1/K that (10)
    leaves out. Raise InputError for rates <= 0, negative or descending times, or classes whose F
    has dependent columns.
    """
    t = require_ascending_times(times)
    require_rate(eta_Y=eta_y, eta_Z=eta_z)
    size, num_classes = classes.vocabulary_size, len(classes.support)
    shape = (len(classes.query_tokens), size)
    scale = eta_z / num_classes if sampled else eta_z
    initial = np.zeros(shape) if start is None else np.asarray(start, dtype=np.float64)

    def slope(time: float, state: Floats) -> Floats:
        f = features(classes, state[num_classes:].reshape(shape))
        e = correlations(f)
        coefficients = theorem1_coefficients(e, size)
        strength = scale * gamma(eta_y, size, num_classes, time)
        exponents = strength * drive(e, coefficients)
        rate = strength * lemma4_rate(f, coefficients.beta, classes.query)
        return np.concatenate([exponents, rate.ravel()])

    start_state = np.concatenate([np.zeros(num_classes), initial.ravel()])
    solution = integrate(slope, start_state, t, tolerance=1e-10)
    z = solution[:, num_classes:].reshape(-1, *shape)
    strengths = gamma(eta_y, size, num_classes, t)
    drives = [
        drive(e, theorem1_coefficients(e, size), strength)
        for e, strength in zip(map(correlations, features(classes, z)), strengths, strict=True)
    ]
    return AttentionFlow(z, solution[:, :num_classes], np.array(drives))


def relative_gain(weights: ArrayLike, token: ArrayLike, other: ArrayLike) -> Floats:
    """Return [...] r_{l/l'|n} = f_nl^2/f_nl'^2 - 1, in (-1, inf), the same for c, c~ and f.

    `weights` are [..., S] c_n, c~_n or f_n of one class, `token` and `other` [...] positions of l
    and l'.
    """
    w = np.asarray(weights, dtype=np.float64)
    gain = w[..., np.asarray(token)] / w[..., np.asarray(other)]
    return np.asarray(gain**2 - 1)


def growth_factor(logits: ArrayLike, initial: ArrayLike) -> Floats:
    """Return chi_l(t) = exp(2 (z_ml(t) - z_ml(0))) of Theorem 3 (11)."""
    return np.asarray(np.exp(2 * (np.asarray(logits, dtype=np.float64) - np.asarray(initial))))


def growth_bounds(exponents: ArrayLike, initial_feature: ArrayLike) -> tuple[Floats, Floats]:
    """Return bounds (12) of chi_{l0}(t) for a dominant distinct token l0 whose f_{nl0} never falls.

    They are exp(2 f_{nl0}^2(0) B_n(t)) and exp(2 B_n(t)). Raise InputError if f_{nl0}(0) is outside
    [0, 1].
    """
    b, f = np.asarray(exponents, dtype=np.float64), np.asarray(initial_feature, dtype=np.float64)
    if not np.all((f >= 0) & (f <= 1)):
        raise InputError("f_{nl0}(0) is an entry of a unit vector and must be in [0, 1]")
    return np.exp(2 * f**2 * b), np.exp(2 * b)
