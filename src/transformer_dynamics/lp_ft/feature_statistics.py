"""What Table 1 measures on features, by formulas that the paper does not give.

    CS(F)   = mean cosine of two different samples' features
    Diff(F) = mean_x ||phi(x) - phi_0(x)||_2
    FDR(F)  = tr((S_W + .01 (tr S_W/h) I)^-1 S_B)

    S_B = sum_c n_c (mu_c - mu)(mu_c - mu)^T,  S_W = sum_i (phi_i - mu_{y_i})(phi_i - mu_{y_i})^T

are the scatter between and within classes. Where n is not above h, S_W is singular and FDR noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RIDGE = 0.01
"""Of the mean eigenvalue of S_W."""


def cosine_similarity(features: NDArray[np.floating]) -> float:
    """CS(F) of [n, h] features, n >= 2, none zero."""
    values = np.asarray(features, np.float64)
    directions = values / np.linalg.norm(values, axis=1, keepdims=True)
    number = len(values)
    # Of all ordered pairs, n are a sample with itself.
    return float((np.sum(directions.sum(axis=0) ** 2) - number) / (number * (number - 1)))


def difference(features: NDArray[np.floating], before: NDArray[np.floating]) -> float:
    """Diff(F) between features [n, h] and those before training."""
    moved = np.asarray(features, np.float64) - np.asarray(before, np.float64)
    return float(np.linalg.norm(moved, axis=1).mean())


class Scatter(NamedTuple):
    """Features around the means of their classes."""

    between: Floats
    """[h, h] S_B."""
    within: Floats
    """[h, h] S_W."""

    @classmethod
    def of(cls, features: NDArray[np.floating], labels: NDArray[np.integer]) -> "Scatter":
        """From features [n, h] and classes [n]; a class may have no sample."""
        values = np.asarray(features, np.float64)
        present, inverse, numbers = np.unique(labels, return_inverse=True, return_counts=True)
        one_hot = np.eye(len(present))[inverse]
        means = (one_hot.T @ values) / numbers[:, None]
        centred = means - values.mean(axis=0)
        inner = values - means[inverse]
        return cls((centred.T * numbers) @ centred, inner.T @ inner)

    @property
    def discriminant_ratio(self) -> float:
        """FDR(F)."""
        width = len(self.within)
        ridge = RIDGE * np.trace(self.within) / width * np.eye(width)
        return float(np.trace(np.linalg.solve(self.within + ridge, self.between)))

    @property
    def trace_ratio(self) -> float:
        """Ratio of the traces of S_B and S_W, which needs no inverse."""
        return float(np.trace(self.between) / np.trace(self.within))


def noise_floor(samples: int, width: int, classes: int) -> float:
    """Mean of tr(S_W^-1 S_B) for Gaussian features that know nothing of their classes.

    (C - 1) h/(n - C - h - 1).

    Args:
        samples: n.
        width: h.
        classes: C that occur.

    Returns:
        The mean; NaN where there are too few samples for one.
    """
    left = samples - classes - width - 1
    return (classes - 1) * width / left if left > 0 else float("nan")
