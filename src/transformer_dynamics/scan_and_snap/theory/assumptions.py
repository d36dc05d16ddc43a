"""Assumptions of the theory on its parameters, and a check of each.

Parameters for which the formulas mean nothing are refused with the assumption's name. Assumption 2
is different: the formulas are exact without it and only its estimates need it, so it is reported.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replication.base.errors import InputError

Floats = NDArray[np.float64]

SYMMETRY_TOLERANCE = 1e-9


def require_vocabulary(vocabulary_size: int) -> None:
    """Refuse by InputError M < 2, where zeta_n = M/(M-1) (e_n - 1/M 1) is undefined."""
    if not 2 <= vocabulary_size < np.inf:
        raise InputError(
            f"the vocabulary needs M >= 2 tokens, but M = {vocabulary_size}: "
            "Lemma 5 divides by M - 1"
        )


def require_classes(num_classes: int, vocabulary_size: int) -> None:
    """Refuse by InputError M < 2, K < 1 and K > M (Assumption 2 asks for M >> K^2)."""
    require_vocabulary(vocabulary_size)
    if num_classes < 1:
        raise InputError(f"there must be K >= 1 sequence classes, but K = {num_classes}")
    if num_classes > vocabulary_size:
        raise InputError(
            f"there can be at most M next tokens, but K = {num_classes} > M = {vocabulary_size}: "
            "Assumption 2 asks for M >> K^2"
        )


def require_rate(**rates: float) -> None:
    """Refuse by InputError a rate not in (0, inf); Assumption 1(c) is about positive rates."""
    for name, rate in rates.items():
        if not 0 < rate < np.inf:
            raise InputError(
                f"the learning rate {name} must be positive and finite, but it is {rate}: "
                "Assumption 1(c) compares positive rates"
            )


def require_times(times: ArrayLike) -> Floats:
    """Return [...] times t, in single-sample updates, in float64.

    Raise InputError if a time is negative or not finite; (45) holds for t >= 0.
    """
    t = np.asarray(times, dtype=np.float64)
    if not np.all((t >= 0) & (t < np.inf)):
        raise InputError("times must be finite and t >= 0: (45) starts from h(0) = 0")
    return t


def require_correlations(correlations: ArrayLike) -> Floats:
    """Return [K, K] E in float64; refuse one that cannot be F^T F - I of independent columns.

    Raise InputError if E is not square, not symmetric, has a diagonal, or has an eigenvalue <= -1,
    where I + E is singular or indefinite and E' (Lemma 14) does not exist.
    """
    e = np.asarray(correlations, dtype=np.float64)
    if e.ndim != 2 or e.shape[0] != e.shape[1]:
        raise InputError(f"E = F^T F - I must be a square matrix, but its shape is {e.shape}")
    asymmetry = np.abs(e - e.T).max(initial=0)
    if not asymmetry <= SYMMETRY_TOLERANCE:
        raise InputError(
            f"E = F^T F - I must be symmetric (Assumption 2), but |E - E^T| is {asymmetry:.3g}"
        )
    diagonal = np.abs(np.diagonal(e)).max(initial=0)
    if diagonal > SYMMETRY_TOLERANCE:
        raise InputError(
            f"E = F^T F - I must have a zero diagonal, as |f_n|_2 = 1 (Assumption 2), but it has"
            f" {diagonal:.3g}"
        )
    smallest = np.linalg.eigvalsh(e).min(initial=0)
    if smallest <= -1 + SYMMETRY_TOLERANCE:
        raise InputError(
            f"every eigenvalue of E must be above -1 (Lemma 14, E' = I - (I+E)^-1), but one is "
            f"{smallest:.6g}: the columns f_n of F must be linearly independent"
        )
    return e


@dataclass(frozen=True)
class Assumption2:
    """Assumption 2, number by number."""

    largest: float
    """Largest absolute eigenvalue |lambda_1| of E."""
    largest_limit: float
    """Limit 1/K, below which |lambda_1| must be."""
    smallest: float
    """Smallest absolute eigenvalue min_i |lambda_i| of E."""
    smallest_limit: float
    """Limit sqrt(6/M), which min_i |lambda_i| must reach (the proof's (93) needs exactly this)."""

    @property
    def holds(self) -> bool:
        """True if the limits of both eigenvalues hold; M >> K^2 has no threshold."""
        return self.largest < self.largest_limit and self.smallest >= self.smallest_limit


def assumption_2(correlations: ArrayLike, vocabulary_size: int) -> Assumption2:
    """Compare the eigenvalues of E [K, K] with the limits of Assumption 2.

    Raise InputError for an impossible E, K > M or M < 2.
    """
    e = require_correlations(correlations)
    num_classes = len(e)
    require_classes(num_classes, vocabulary_size)
    eigenvalues = np.abs(np.linalg.eigvalsh(e))
    return Assumption2(
        largest=float(eigenvalues.max()),
        largest_limit=1 / num_classes,
        smallest=float(eigenvalues.min()),
        smallest_limit=float(np.sqrt(6 / vocabulary_size)),
    )
