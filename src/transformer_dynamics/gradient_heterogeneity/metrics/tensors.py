"""Gradient and curvature of every tensor."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.measured_states import (
    MeasuredState,
    read_states,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob


def measure(job: MeasuredMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure each tensor on each batch of each state, in one row.

    Columns are those of `MeasuredState.columns`; batch from 0; tensor, layer and kind, see `Block`;
    params, P_b; norm, ||g_b||; norm_1, ||g_b||_1; nonzero, entries of g_b that are not zero;
    curvature, the largest eigenvalue of H_bb, and products, which it took, NaN of biases and of
    batches of which it was not measured.
    """
    return pd.concat([_rows(state) for state in read_states(job, runs)], ignore_index=True)


def _rows(state: MeasuredState) -> pd.DataFrame:
    found = state.found
    batches, tensors = found.norms.shape
    curved = np.full((2, batches, tensors), np.nan)
    curved[0, : len(found.curvatures)] = found.curvatures
    curved[1, : len(found.products)] = found.products
    curved[1, np.isnan(curved[0])] = np.nan
    of_tensors = {
        "tensor": state.tensors, "layer": state.layers, "kind": state.kinds, "params": state.sizes,
    }  # fmt: skip
    of_both = {
        "norm": found.norms, "norm_1": found.absolute, "nonzero": found.nonzero,
        "curvature": curved[0], "products": curved[1],
    }  # fmt: skip
    return pd.DataFrame(
        state.columns
        | {"batch": np.repeat(np.arange(batches), tensors)}
        | {name: np.tile(values, batches) for name, values in of_tensors.items()}
        | {name: values.ravel() for name, values in of_both.items()}
    )
