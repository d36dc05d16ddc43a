"""The decoder on features that stand still, updated by the paper's (26) and by gradient ascent (7).

    (7)   Y += eta_Y f_n (e_n - alpha_n)^T
    (26)  Y += eta_Y (f_n - F E' e_n) (e_n - alpha_n)^T

F stands still. From Y(0) = 0 both stay in the span of F, so they are simulated in the coordinates
C [K, M] of Y = F C: (7) adds to row n of C alone, (26) adds (I - E') e_n times the error. The
logits are w_n^T = f_n^T Y, the rows of W = (I + E) C. The expected flow with classes drawn
uniformly is

    Cdot = eta_Y/K (e - alpha)              (7)
    Cdot = eta_Y/K (I - E') (e - alpha)     (26)

where row n of (e - alpha) [K, M] is class n's error. All tokens that are no next token have equal
columns, so one column stands for the M - K of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.theory.assumptions import (
    require_classes,
    require_rate,
    require_vocabulary,
)
from transformer_dynamics.scan_and_snap.theory.coupling import e_prime
from transformer_dynamics.scan_and_snap.theory.decoder import h_steps, lemma5_logits
from transformer_dynamics.scan_and_snap.theory.integration import (
    integrate,
    require_ascending_times,
)

Floats = NDArray[np.float64]


def simulate_updates(
    correlations: ArrayLike,
    vocabulary_size: int,
    eta_y: float,
    sequence: ArrayLike,
    *,
    modified: bool,
) -> Floats:
    """Update Y by (7), or by (26) if `modified`, once per class of a sequence, from Y(0) = 0.

    Return [steps + 1, K, M] the coordinates C, Y = F C, at the start and after every update. The
    next token of class n has the id n; the [steps] sequence `np.arange(steps) % K` is uniform
    sampling without its noise. Raise InputError for an impossible [K, K] E, K > M, M < 2, eta_Y <=
    0 or a class that is not in 0..K-1.
    """
    direction = e_prime(correlations)
    num_classes = len(direction)
    require_classes(num_classes, vocabulary_size)
    require_rate(eta_Y=eta_y)
    order = np.asarray(sequence, dtype=np.int64)
    if order.size and not 0 <= order.min() <= order.max() < num_classes:
        raise InputError(f"the classes of the updates must be in 0..K-1 = 0..{num_classes - 1}")
    direction = np.eye(num_classes) - direction * modified
    gram = np.eye(num_classes) + np.asarray(correlations, dtype=np.float64)
    records = np.zeros((len(order) + 1, num_classes, vocabulary_size))
    coordinates = np.zeros((num_classes, vocabulary_size))
    for step, n in enumerate(order, 1):
        error = -softmax(gram[n] @ coordinates)
        error[n] += 1
        coordinates += eta_y * direction[:, n, None] * error
        records[step] = coordinates
    return records


def logits(coordinates: Floats, correlations: ArrayLike) -> Floats:
    """Return [R, K, M] W = F^T Y = (I + E) C, whose rows w_n are the logits of the classes."""
    e = np.asarray(correlations, dtype=np.float64)
    return np.asarray(coordinates + np.einsum("nk,rkm->rnm", e, coordinates))


class Remark1(NamedTuple):
    """w_nn under the unmodified update with equal correlations, and two readings of Remark 1."""

    simulated: float
    """Logit w_nn after the updates of (7)."""
    scaled: float
    """Logit (1-rho) (M-1) h*, as (43) prints."""
    slowed: float
    """Logit (M-1) h* run at the 'effective learning rate' (1-rho) eta_Y."""


def equal_correlations(num_classes: int, rho: float) -> Floats:
    """Return [K, K] E with f_n.f_n' = rho for every pair."""
    return rho * (np.ones((num_classes, num_classes)) - np.eye(num_classes))


def remark_1(
    num_classes: int, vocabulary_size: int, rho: float, eta_y: float, passes: int
) -> Remark1:
    """Return both readings of Remark 1 beside a simulation of the unmodified dynamics.

    All pairs have f_n.f_n' = rho; each class is seen in every one of the round-robin passes. The
    simulated logit w_nn is averaged over n. Raise InputError for an impossible rho, K > M, M < 2 or
    eta_Y <= 0.
    """
    require_vocabulary(vocabulary_size)
    e = equal_correlations(num_classes, rho)
    order = np.arange(passes * num_classes) % num_classes
    end = simulate_updates(e, vocabulary_size, eta_y, order, modified=False)[-1:]
    simulated = float(np.diagonal(logits(end, e)[0])[:num_classes].mean())
    full, slow = (
        lemma5_logits(h_steps(rate, vocabulary_size, passes)[-1], vocabulary_size, 0)[0]
        for rate in (eta_y, (1 - rho) * eta_y)
    )
    return Remark1(simulated=simulated, scaled=float((1 - rho) * full), slowed=float(slow))


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

    Return [T, K] xi_n at [T] ascending times, in updates. Y moves by (7), or by (26) if `modified`.
    The tolerance is both relative and absolute. Raise InputError for an impossible [K, K] E, K > M,
    M < 2, eta_Y <= 0, or descending times.
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

    states = integrate(slope, np.zeros(target.size), require_ascending_times(times), tolerance)
    drives = []
    for state in states.reshape(-1, *target.shape):
        a = state * copies @ errors(state).T  # [n', n]: coefficient of f_n' in g_n
        beta = np.diag(np.diagonal(a)) - a.T
        drives.append((np.asarray(correlation) * beta).sum(axis=1))
    return np.array(drives)
