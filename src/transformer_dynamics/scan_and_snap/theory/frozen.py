"""The expected decoder flow while the attention stands still, modified (26) or not (7).

In the coordinates of Y = F C, with classes drawn uniformly,

    Cdot = eta_Y/K (e - alpha)              (7)
    Cdot = eta_Y/K (I - E') (e - alpha)     (26)

where row n of (e - alpha) [K, M] is class n's error. All tokens that are no next token have equal
columns, so one column stands for the M - K of them. It shows what the modification does to xi_n,
which moves the attention.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from transformer_dynamics.scan_and_snap.theory.assumptions import require_classes, require_rate
from transformer_dynamics.scan_and_snap.theory.coupling import Coefficients, drive, e_prime
from transformer_dynamics.scan_and_snap.theory.integration import ascending, integrate

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FrozenFlow:
    """A solution with fixed F."""

    times: Floats
    """[T] t, in updates."""
    drive: Floats
    """[T, K] xi_n."""
    beta: Floats
    """[T, K, K] gamma beta_nn', with zero diagonal."""
    iota: Floats
    """[T, K] gamma iota_n."""
    errors: Floats
    """[T, K] 1 - alpha_nn."""


def frozen_flow(
    correlation: ArrayLike,
    vocabulary_size: int,
    eta_y: float,
    times: ArrayLike,
    *,
    modified: bool,
    tolerance: float = 1e-10,
) -> FrozenFlow:
    """Integrate Y from 0 with F fixed, and express g_n in the basis F.

    Args:
        correlation: [K, K] E.
        vocabulary_size: M.
        eta_y: learning rate of Y.
        times: [T] times to return, ascending, in updates.
        modified: whether Y moves by (26) instead of (7).
        tolerance: relative and absolute tolerance of the integrator.

    Returns:
        xi_n and the coefficients of g_n at these times.

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

    t = ascending(times)
    states = integrate(slope, np.zeros(target.size), t, tolerance)
    records = []
    for state in states:
        error = errors(state.reshape(target.shape))
        records.append((state.reshape(target.shape) * copies @ error.T, np.diagonal(error)))
    a = np.array([record[0] for record in records])  # [T, n', n]: coefficient of f_n' in g_n
    iota = np.diagonal(a, axis1=1, axis2=2)
    beta = iota[:, None] * np.eye(num_classes) - np.swapaxes(a, 1, 2)
    pairs = [Coefficients(*pair) for pair in zip(iota, beta, strict=True)]
    return FrozenFlow(
        times=t,
        drive=np.array([drive(correlation, pair) for pair in pairs]),
        beta=beta,
        iota=iota,
        errors=np.array([record[1] for record in records]),
    )
