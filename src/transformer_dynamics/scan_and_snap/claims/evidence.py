"""Evidence of a claim that is computed rather than sampled."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, SupportsFloat

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from transformer_dynamics.scan_and_snap.settings import Mixture

Arguments = ParamSpec("Arguments")
Cases = Iterator[tuple[str, SupportsFloat]]
"""What each case is called, and the value that the claim's bounds are about."""

ONE_QUERY = Mixture(
    num_last=1, next_tokens_per_query=4, common_weights=[1.0], distinct_weights=[0.5, 1.0, 1.5]
)
"""Four sequence classes of one query, with one common token."""
OVERLAPPING = ((2, 34), (6, 200), (20, 240))
"""K and M of `example_features` on which statements about F are tried."""


def evidence(cases: Callable[Arguments, Cases]) -> Callable[Arguments, pd.DataFrame]:
    """Make a measure of a generator of cases: a table of one row per case."""

    @wraps(cases, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def measure(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pd.DataFrame:
        found = [(name, float(value)) for name, value in cases(*args, **kwargs)]
        return pd.DataFrame(found, columns=["cell", "value"])

    return measure


def deviation(found: ArrayLike, expected: ArrayLike) -> float:
    """Largest |found - expected| over the largest |expected|."""
    right = np.asarray(expected)
    return float(np.abs(np.asarray(found) - right).max() / np.abs(right).max())
