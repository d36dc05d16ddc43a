"""Evidence of a claim that is computed rather than sampled."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, SupportsFloat

import pandas as pd

Arguments = ParamSpec("Arguments")
Cases = Iterator[tuple[str, SupportsFloat]]
"""What each case is called, and the value that the claim's bounds are about."""


def evidence(cases: Callable[Arguments, Cases]) -> Callable[Arguments, pd.DataFrame]:
    """Make a measure of a generator of cases: a table of one row per case."""

    @wraps(cases, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    def measure(*args: Arguments.args, **kwargs: Arguments.kwargs) -> pd.DataFrame:
        found = [(name, float(value)) for name, value in cases(*args, **kwargs)]
        return pd.DataFrame(found, columns=["cell", "value"])

    return measure
