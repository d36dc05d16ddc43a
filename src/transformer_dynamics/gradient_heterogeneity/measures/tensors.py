"""Gradient and curvature of every tensor."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.measured_settings import MeasuredRuns
from transformer_dynamics.gradient_heterogeneity.measures.states import Measured, states


def measure(
    job: MeasuredRuns, runs: Iterable[Run], data: Sequence[Mapping[str, NDArray[Any]]]
) -> pd.DataFrame:
    """All that was measured.

    Args:
        job: the runs.
        runs: as they were measured.
        data: not used.

    Returns:
        Columns of `Measured.columns`; batch from 0; tensor, layer and kind, see `Block`; params,
        P_b; norm, ||g_b||; norm_1, ||g_b||_1; nonzero, entries of g_b that are not zero; curvature,
        the largest eigenvalue of H_bb, and products, which it took, NaN of biases and of batches of
        which it was not measured.
    """
    return pd.concat([_rows(state) for state in states(job, runs)], ignore_index=True)


def _rows(state: Measured) -> pd.DataFrame:
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
