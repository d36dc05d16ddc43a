"""Inequality of the gradients and curvatures of a network's tensors.

Each number is computed for each batch and then averaged over batches. The interval is that of the
average when batches are drawn anew from those that there are. Curvatures h_b are averages over the
batches of which they were measured, zero if negative.

A step by signs moves entries alone whose gradient is not zero. So Lambda_P and kappa count these,
of a table of words the rows that occur in the batch; r_b has the published P_b.
"""

from collections.abc import Iterable, Sequence

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.random_streams import generator
from replication.study.contract import Run
from transformer_dynamics.gradient_heterogeneity.metrics.measured_states import (
    MeasuredState,
    read_states,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import Floats
from transformer_dynamics.gradient_heterogeneity.training.record import TENSOR_SETS

DRAWS = 1000
"""Number of draws of batches for an interval."""
TAIL = 2.5
"""Percent of draws below the interval, and above it."""
GRADIENTS = (
    "gini_norm", "gini_density", "log_spread", "extent", "kappa", "layer_gini", "layer_log_spread",
)  # fmt: skip
"""Metrics that `gradient_metrics` describes."""
CURVATURES = ("lambda_g", "lambda_p", "ratio", "advantage", "slope", "rank", "block_gain")
"""Metrics that `curvature_metrics` describes."""


def measure(job: MeasuredMetricJob, runs: Iterable[Run], data: Sequence[object]) -> pd.DataFrame:
    """Measure the heterogeneity of each state and set of tensors.

    Columns are those of `MeasuredState.columns`; set, one of `TENSOR_SETS`, of which only tensors
    that get a gradient count; blocks, the number of these tensors; metric, see `gradient_metrics`
    and `curvature_metrics`; value; low and high, 95 % over batches. Metrics of curvatures are
    missing where none was measured, those of layers where there is one alone. They are NaN where
    they are not defined, as after training that was lost.
    """
    rows = []
    for state in read_states(job, runs):
        for name in TENSOR_SETS:
            chosen = is_member(state, name)
            blocks = int(chosen.sum())
            for metric, values in _metrics(state, chosen).items():
                low, high = bootstrap_interval(values)
                told = {"set": name, "blocks": blocks, "metric": metric}
                found = {"value": values.mean(), "low": low, "high": high}
                rows.append(state.columns | told | found)
    return pd.DataFrame(rows)


def is_member(state: MeasuredState, name: str) -> NDArray[np.bool_]:
    """Return the members [B] of a set of tensors; they have a gradient in every batch."""
    kinds = state.kinds == "matrix" if name == "matrices" else state.kinds != "bias"
    return np.asarray(kinds & (state.found.norms > 0).all(axis=0))


def _metrics(state: MeasuredState, chosen: NDArray[np.bool_]) -> dict[str, Floats]:
    """Return all metrics of a set of tensors, each of every batch; NaN where undefined."""
    found: dict[str, Floats] = {}
    for names, measures in ((GRADIENTS, gradient_metrics), (CURVATURES, curvature_metrics)):
        try:
            if state.is_lost or not chosen.any():
                raise InputError("training was lost, or no tensor has a gradient")
            found |= measures(state, chosen)
        except InputError as error:
            told = (str(state.columns[name]) for name in ("arm", "seed", "state"))
            click.echo(f"{', '.join(told)}: {error.message}", err=True)
            found |= dict.fromkeys(names, np.full(len(state.found.norms), np.nan))
    return found


def gradient_metrics(state: MeasuredState, chosen: NDArray[np.bool_]) -> dict[str, Floats]:
    """Return metrics [batch] of the gradients of a set of tensors, `chosen` [B].

    gini_norm and gini_density are G of ||g_b|| and r_b; log_spread is the standard deviation of
    log r_b; extent is the largest over the smallest r_b; then kappa; layer_gini and
    layer_log_spread are those of norms of layers 1 to L. Raises an `InputError` if they are not
    defined, as of too few tensors.
    """
    found = state.found
    norms, density = found.norms[:, chosen], _densities(state, chosen)
    metrics = {
        "gini_norm": heterogeneity.gini(norms),
        "gini_density": heterogeneity.gini(density),
        "log_spread": heterogeneity.log_spread(density),
        "extent": heterogeneity.extent(density),
        "kappa": _kappa(state, chosen),
    }
    layers = layer_norms(norms, state.layers[chosen], int(state.layers.max()) - 2)
    if layers.shape[1] > 1:
        metrics["layer_gini"] = heterogeneity.gini(layers)
        metrics["layer_log_spread"] = heterogeneity.log_spread(layers)
    return metrics


def curvature_metrics(state: MeasuredState, chosen: NDArray[np.bool_]) -> dict[str, Floats]:
    """Return metrics [batch] of the curvatures of a set of tensors, `chosen` [B].

    There are none where curvatures were not measured. They are lambda_g; lambda_p; ratio,
    lambda_g/lambda_p; advantage, kappa times ratio; slope and rank of log h_b on log r_b;
    block_gain, K with h_b no smaller than the median over the limit. Raises an `InputError` if they
    are not defined, as of too few tensors that are curved upwards.
    """
    found = state.found
    if not len(found.curvatures):
        return {}
    curvatures = np.maximum(found.curvatures[:, chosen], 0).mean(axis=0)
    if not np.isfinite(curvatures).all():
        raise InputError("a curvature is not finite")
    norms, nonzero = found.norms[:, chosen], found.nonzero[:, chosen]
    gradient = heterogeneity.gradient_weighted(norms, curvatures)
    size = np.array([heterogeneity.size_weighted(row, curvatures) for row in nonzero])
    ratio = gradient / size
    aligned = [heterogeneity.alignment(curvatures, row) for row in _densities(state, chosen)]
    floored = np.maximum(curvatures, np.median(curvatures) / state.measuring.limit)
    return {
        "lambda_g": gradient,
        "lambda_p": size,
        "ratio": ratio,
        "advantage": _kappa(state, chosen) * ratio,
        "slope": np.array([each.slope for each in aligned]),
        "rank": np.array([each.rank for each in aligned]),
        "block_gain": heterogeneity.block_rate_gain(norms, floored),
    }


def _densities(state: MeasuredState, chosen: NDArray[np.bool_]) -> Floats:
    return heterogeneity.densities(state.found.norms[:, chosen], state.sizes[chosen])


def _kappa(state: MeasuredState, chosen: NDArray[np.bool_]) -> Floats:
    found = state.found
    return heterogeneity.kappa(
        found.absolute[:, chosen].sum(axis=1),
        np.linalg.norm(found.norms[:, chosen], axis=1),
        found.nonzero[:, chosen].sum(axis=1),
    )


def layer_norms(norms: Floats, layers: NDArray[np.int64], depth: int) -> Floats:
    """Return norms [batch, L] of the gradients of whole layers, without layers that have no tensor.

    `norms` [batch, B] are ||g_b||, `layers` [B] the layer of each tensor; layers go from 1 to L.
    """
    present = [layer for layer in range(1, depth + 1) if (layers == layer).any()]
    columns = [np.linalg.norm(norms[:, layers == layer], axis=1) for layer in present]
    return np.stack(columns, axis=1) if columns else np.empty((len(norms), 0))


def bootstrap_interval(values: Floats) -> tuple[float, float]:
    """Return 95 % of averages of batches, drawn anew with repetition, from values [batch]."""
    drawn = generator(0, "bootstrap of batches").integers(len(values), size=(DRAWS, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), [TAIL, 100 - TAIL])
    return float(low), float(high)
