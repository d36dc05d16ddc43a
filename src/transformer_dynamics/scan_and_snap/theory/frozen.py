"""The expected decoder flow while the attention stands still, modified (26) or not (7).

In the coordinates of Y = F C, with classes drawn uniformly,

    Cdot = eta_Y/K (e - alpha)              (7)
    Cdot = eta_Y/K (I - E') (e - alpha)     (26)

where row n of (e - alpha) [K, M] is class n's error. All tokens that are no next token have equal
columns, so one column stands for the M - K of them. It shows what the modification does to xi_n,
which moves the attention.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from transformer_dynamics.scan_and_snap.theory.assumptions import require_classes, require_rate
from transformer_dynamics.scan_and_snap.theory.coupling import e_prime
from transformer_dynamics.scan_and_snap.theory.integration import ascending, integrate

Floats = NDArray[np.float64]


def frozen_flow(
    correlation: ArrayLike,
    vocabulary_size: int,
    eta_y: float,
    times: ArrayLike,
    *,
    modified: bool,
    tolerance: float = 1e-10,
) -> Floats:
    """Integrate Y from 0 with F fixed, and express g_n in the basis F to have xi_n.

    Args:
        correlation: [K, K] E.
        vocabulary_size: M.
        eta_y: learning rate of Y.
        times: [T] times to return, ascending, in updates.
        modified: whether Y moves by (26) instead of (7).
        tolerance: relative and absolute tolerance of the integrator.

    Returns:
        [T, K] xi_n at these times.

    Raises:
        InputError: for an impossible E, K > M, M < 2, eta_Y <= 0, or descending times.
    """
    prime = e_prime(correlation)
    num_classes = len(prime)
    require_classes(num_classes, vocabulary_size)
    require_rate(eta_Y=eta_y)
    gram = np.eye(num_classes) + np.asarray(correlation, dtype=np.float64)
    direction = eta_y / num_classes * (np.eye(num_classes) - prime * modified)
    copies = np.append(np.ones(num_classes), vocabulary_size - num_classes)
    target = np.eye(num_classes, num_classes + 1)

    def errors(coordinates: Floats) -> Floats:
        scores = gram @ coordinates
        normaliser = logsumexp(scores, axis=1, keepdims=True, b=copies)
        return np.asarray(target - np.exp(scores - normaliser))

    def slope(_time: float, state: Floats) -> Floats:
        return np.asarray(direction @ errors(state.reshape(target.shape))).ravel()

    states = integrate(slope, np.zeros(target.size), ascending(times), tolerance)
    drives = []
    for state in states.reshape(-1, *target.shape):
        a = state * copies @ errors(state).T  # [n', n]: coefficient of f_n' in g_n
        beta = np.diag(np.diagonal(a)) - a.T
        drives.append((np.asarray(correlation) * beta).sum(axis=1))
    return np.array(drives)
