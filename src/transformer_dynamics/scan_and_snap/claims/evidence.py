"""Evidence of a claim that is computed rather than sampled."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def evidence(values: Mapping[str, float]) -> pd.DataFrame:
    """One row per case: what it is called, and the value that the claim's bounds are about."""
    return pd.DataFrame({"cell": list(values), "value": [float(v) for v in values.values()]})


def deviation(found: ArrayLike, expected: ArrayLike) -> float:
    """Largest |found - expected| over the largest |expected|."""
    right = np.asarray(expected)
    return float(np.abs(np.asarray(found) - right).max() / np.abs(right).max())
