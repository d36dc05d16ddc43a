"""Decrease of one step, and the decrease that curvature promises."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.measured_states import (
    COLUMNS,
    MeasuredState,
    read_states,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob
from transformer_dynamics.gradient_heterogeneity.training.record import STEP_METHODS, TENSOR_SETS

OWN = ("batch", "set", "method", "factor", "rate", "sure", "decrease")
"""Columns besides those of `MeasuredState.columns`."""
Row = tuple[int, str, str, float, float, float, float]


def measure(job: MeasuredMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each curved batch, set of tensors, method and rate, in one row.

    Columns are those of `MeasuredState.columns`; batch from 0; set, method and factor f, see
    `training.one_step`; rate, f eta*; sure, the decrease that (1) promises if blocks are not
    coupled; decrease (nats). There are no rows of states of which no curvature was measured.
    """
    told = [
        dict(zip(OWN, row, strict=True)) | state.columns
        for state in read_states(job, runs)
        for row in _rows(state)
    ]
    return pd.DataFrame(told, columns=[*OWN, *COLUMNS])


def _rows(state: MeasuredState) -> list[Row]:
    found = state.found
    rows: list[Row] = []
    cases = product(
        range(len(found.slopes)),
        enumerate(TENSOR_SETS),
        enumerate(STEP_METHODS),
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
