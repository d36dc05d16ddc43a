"""Examples on which statements of the theory are tried, and the deviation from them."""

import numpy as np
from numpy.typing import ArrayLike

from transformer_dynamics.scan_and_snap.settings.training import Mixture

ONE_QUERY = Mixture(
    num_last=1, next_tokens_per_query=4, common_weights=[1.0], distinct_weights=[0.5, 1.0, 1.5]
)
"""Four sequence classes of one query, with one common token."""
OVERLAPPING = ((2, 34), (6, 200), (20, 240))
"""Sizes K and M of `example_features` on which statements about F are tried."""


def deviation(found: ArrayLike, expected: ArrayLike) -> float:
    """Return the largest |found - expected| over the largest |expected|."""
    right = np.asarray(expected)
    return float(np.abs(np.asarray(found) - right).max() / np.abs(right).max())
