"""The decoder Y while Z stands still: h, gamma and the times at which they turn (Sec. 3).

Under the paper's modified update (26) every class n is learnt alone, w_n = (M-1) h zeta_n, and one
scalar h tells how far. All times are numbers of single-sample updates; with K equally likely
classes a class is seen t/K times. With x = M h:

    exp(x) + (M-1) x = M eta_Y s + 1                                            (45)
    gamma(t) = (M-1)^2 h(t/K) / ((M-1) + exp(M h(t/K)))                         (85)

A class's prediction follows from it (Lemma 5, Corollary 1):

    alpha_n = softmax(w_n),    e_n - alpha_n = (M-1)/((M-1) + exp(M h)) zeta_n

In the functions `eta_y` is eta_Y, `vocabulary_size` M, `num_classes` K, and `times` and `h` may
have any shape. Values for which a formula means nothing raise `InputError`, see `assumptions`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, lambertw, wrightomega

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import (
    require_classes,
    require_rate,
    require_times,
    require_vocabulary,
)

Floats = NDArray[np.float64]

SMALL = 1e-8
"""Value of M eta_Y s below which the logarithms of `h_continuous` cancel."""
GAP_LIMIT = 2.0
"""Upper bound of (h* - h) M/eta_Y, by Lemma 7."""


def h_steps(eta_y: float, vocabulary_size: int, steps: int) -> Floats:
    """Return [steps + 1] h*(0) = 0, h*(1), ... of the discrete updates, recursion (33)."""
    require_vocabulary(vocabulary_size)
    require_rate(eta_Y=eta_y)
    if steps < 0:
        raise InputError(f"the number of steps must be >= 0, but it is {steps}")
    h = np.zeros(steps + 1)
    for s in range(steps):
        h[s + 1] = h[s] + eta_y / (vocabulary_size - 1) * prediction_error(h[s], vocabulary_size)
    return h


def h_continuous(eta_y: float, vocabulary_size: int, times: ArrayLike) -> Floats:
    """Return [...] h(s) of the continuous dynamics (44), by the exact solution of (45).

    With c = (M eta_Y s + 1)/(M-1), (45) is solved by x = ln(M-1) + ln omega(c - ln(M-1)) where
    omega(z) = W(e^z) is Wright's omega, which cannot overflow. Where M eta_Y s < 1e-8 these
    logarithms cancel and x = eta_Y s takes their place. One Newton step on expm1(x) + (M-1) x = M
    eta_Y s then gives all digits of h.
    """
    require_vocabulary(vocabulary_size)
    require_rate(eta_Y=eta_y)
    others = vocabulary_size - 1
    grown = vocabulary_size * eta_y * require_times(times)
    x = np.log(others) + np.log(wrightomega((grown + 1) / others - np.log(others)))
    x = np.where(grown < SMALL, grown / vocabulary_size, x)
    x = x - (np.expm1(x) + others * x - grown) / (np.exp(x) + others)
    return np.asarray(x / vocabulary_size)


def h_time(eta_y: float, vocabulary_size: int, h: ArrayLike) -> Floats:
    """Return the time s at which h(s) has a given value, in updates of the class, by (45)."""
    require_vocabulary(vocabulary_size)
    require_rate(eta_Y=eta_y)
    x = vocabulary_size * np.asarray(h, dtype=np.float64)
    if not np.all((x >= 0) & (x < np.inf)):
        raise InputError("h(s) of (45) must be finite and h >= 0, as h(0) = 0 and it rises")
    return np.asarray((np.expm1(x) + (vocabulary_size - 1) * x) / (vocabulary_size * eta_y))


def prediction_error(h: ArrayLike, vocabulary_size: int) -> Floats:
    """Return 1 - alpha_nn = (M-1)/((M-1) + exp(M h)), x_{T+1} - alpha_n along zeta_n (Lemma 5)."""
    require_vocabulary(vocabulary_size)
    x = vocabulary_size * np.asarray(h, dtype=np.float64)
    return np.asarray(expit(np.log(vocabulary_size - 1) - x))


def gamma(eta_y: float, vocabulary_size: int, num_classes: int, times: ArrayLike) -> Floats:
    """Return gamma >= 0 at time t, the size of the back-propagated gradient in Theorem 1 (85)."""
    require_classes(num_classes, vocabulary_size)
    h = h_continuous(eta_y, vocabulary_size, require_times(times) / num_classes)
    return np.asarray((vocabulary_size - 1) * h * prediction_error(h, vocabulary_size))


def gamma_peak(eta_y: float, vocabulary_size: int, num_classes: int) -> float:
    """Return the t = K s at which gamma is largest: M h = 1 + W((M-1)/e), by (x-1) exp(x) = M-1."""
    require_classes(num_classes, vocabulary_size)
    w = float(lambertw((vocabulary_size - 1) / np.e).real)
    return float(num_classes * h_time(eta_y, vocabulary_size, (1 + w) / vocabulary_size))


def omega_1(vocabulary_size: int) -> float:
    """Return omega_1 of Lemma 8: exp(M h) = (M-1) M h at its upper root M h = (1 + omega_1) ln M.

    It is -W_{-1}(-1/(M-1))/ln M - 1. From there on the exponential of (45) dominates. Raise
    InputError for M < 4, where exp(x) > (M-1) x for all x and there is no root.
    """
    require_vocabulary(vocabulary_size)
    if vocabulary_size < 4:
        raise InputError(
            f"Lemma 8 needs M >= 4, but M = {vocabulary_size}: exp(M h) = (M-1) M h has no root"
        )
    upper = -float(lambertw(-1 / (vocabulary_size - 1), -1).real)
    return float(upper / np.log(vocabulary_size)) - 1


def scanning_end(eta_y: float, vocabulary_size: int, num_classes: int) -> float:
    """Return t0' = K ln M / eta_Y, in updates, until which gamma ~ eta_Y t/K (Lemma 9)."""
    require_classes(num_classes, vocabulary_size)
    require_rate(eta_Y=eta_y)
    return float(num_classes * np.log(vocabulary_size) / eta_y)


def snapping_start(eta_y: float, vocabulary_size: int, num_classes: int) -> float:
    """Return t0 = 2 (1 + omega_1) K ln M / eta_Y, from which h ~ ln(M eta_Y t/K)/M (Lemma 9)."""
    return 2 * (1 + omega_1(vocabulary_size)) * scanning_end(eta_y, vocabulary_size, num_classes)


def updates_with_momentum(updates: ArrayLike, momentum: float) -> Floats:
    """Return n updates with momentum m that move as far as some without, from rest.

    Under a constant gradient the n-th moves by (1 - m^n)/(1 - m), all of them by
    (n - m (1 - m^n)/(1 - m))/(1 - m); Lambert's function solves this for n.
    """
    plain = np.asarray(updates, np.float64)
    if not momentum:
        return plain
    lag, decay = momentum / (1 - momentum), -np.log(momentum)
    late = (1 - momentum) * plain + lag
    return np.asarray(late + lambertw(-decay * lag * np.exp(-decay * late)).real / decay)


def zeta(vocabulary_size: int, tokens: ArrayLike) -> Floats:
    """Return [..., M] zeta_n = M/(M-1) (e_n - 1/M 1), along which class n's prediction moves."""
    require_vocabulary(vocabulary_size)
    one_hot = np.eye(vocabulary_size)[np.asarray(tokens)]
    return np.asarray((vocabulary_size * one_hot - 1) / (vocabulary_size - 1))


def q1(vocabulary_size: int) -> float:
    """Return zeta_n^T zeta_n = 1 + 1/(M-1)."""
    require_vocabulary(vocabulary_size)
    return 1 + 1 / (vocabulary_size - 1)


def q0(vocabulary_size: int) -> float:
    """Return zeta_n^T zeta_n' = -M/(M-1)^2 for n != n'."""
    require_vocabulary(vocabulary_size)
    return -vocabulary_size / (vocabulary_size - 1) ** 2


def lemma5_logits(h: ArrayLike, vocabulary_size: int, token: int) -> Floats:
    """Return [..., M] w_n = (M-1) h zeta_n (31), a class's logits under the modified update."""
    size = np.asarray(h, dtype=np.float64)[..., None]
    return np.asarray((vocabulary_size - 1) * size * zeta(vocabulary_size, token))


def lemma5_prediction(h: ArrayLike, vocabulary_size: int, token: int) -> Floats:
    """Return [..., M] alpha_n = softmax(w_n) = e_n - (M-1)/((M-1) + exp(M h)) zeta_n (32)."""
    rest = prediction_error(h, vocabulary_size)[..., None] / (vocabulary_size - 1)
    own = np.arange(vocabulary_size) == token
    return np.asarray(np.where(own, 1 - (vocabulary_size - 1) * rest, rest))
