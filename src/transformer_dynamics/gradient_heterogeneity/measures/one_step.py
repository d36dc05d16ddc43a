"""What one step gains, and what curvature promises."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measured_settings import MeasuredRuns
from transformer_dynamics.gradient_heterogeneity.measures.states import COLUMNS, Measured, states
from transformer_dynamics.gradient_heterogeneity.one_step import METHODS, SETS

OWN = ("batch", "set", "method", "factor", "rate", "sure", "decrease")
"""Besides those of `Measured.columns`."""


def measure(
    job: MeasuredRuns, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """One row per curved batch, set of tensors, method and rate.

    Args:
        job: the runs.
        runs: as they were measured.
        data: not used.

    Returns:
        Columns of `Measured.columns`; batch from 0; set, method and factor f, see `one_step`; rate,
        f eta*; sure, the decrease that (1) promises if blocks are not coupled; decrease (nats).
        There are no rows of states of which no curvature was measured.
    """
    told = [
        dict(zip(OWN, row, strict=True)) | state.columns
        for state in states(job, runs)
        for row in _rows(state)
    ]
    return pd.DataFrame(told, columns=[*OWN, *COLUMNS])


def _rows(state: Measured) -> list[tuple[int, str, str, float, float, float, float]]:
    found = state.found
    rows: list[tuple[int, str, str, float, float, float, float]] = []
    cases = product(
        range(len(found.slopes)),
        enumerate(SETS),
        enumerate(METHODS),
        enumerate(state.measuring.factors),
    )
    for batch, (i, chosen), (j, method), (k, factor) in cases:
        slope, bend = found.slopes[batch, i, j], found.bends[batch, i, j]
        best = slope / bend if bend > 0 else np.nan
        rows.append((
            batch, chosen, method, factor,
            factor * best, factor * (2 - factor) * best * slope / 2,
            found.decreases[batch, i, j, k],
        ))  # fmt: skip
    return rows
