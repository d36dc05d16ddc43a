"""Record of a training or a measurement: its steps, and the content of its arrays.

Metrics read this module alone of all in this folder.
"""

from math import cos, pi
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.gradient_heterogeneity.settings.training import Schedule

Floats = NDArray[np.float64]
POINT_COLUMNS = ("endpoint", "accuracy", "mean_bias", "common", "centred", "total")
"""Columns of `looks`: cross-entropy (nats) and accuracy of the slice without dropout; mean b; norms
of V."""
HEAD_COLUMNS = ("mean_bias", "common", "centred", "total", "loss")
"""Columns of `heads`: mean b; norms of V; cross-entropy of the slice (nats)."""
DIRECTION_SETS = ("all", "without_embeddings")
"""Sets of tensors for which the direction of a step is recorded."""
DIRECTIONS = ("own_sign", "gradient_sign")
"""Cosine of a step with its own signs, and with those of the gradient."""
TENSOR_SETS = ("all", "matrices")
"""Sets of measured tensors: all but biases, whose curvature is not measured; hidden matrices and
kernels alone."""
StepMethod = Literal["gradient", "sign", "block_rates"]
"""Direction d of one step: g; sign g; g_b/max(h_b, median(h)/limit)."""
STEP_METHODS: tuple[StepMethod, ...] = ("gradient", "sign", "block_rates")
"""All directions of one step."""


class TriedSteps(NamedTuple):
    """Steps from one state on one batch, see `one_step`."""

    slopes: Floats
    """[`TENSOR_SETS`, `STEP_METHODS`] Slope g.d of the loss along d."""
    bends: Floats
    """[`TENSOR_SETS`, `STEP_METHODS`] Bend sum_b h_b ||d_b||^2 of the loss along d."""
    decreases: Floats
    """[`TENSOR_SETS`, `STEP_METHODS`, factor] Decrease of the loss at f eta*, without dropout; NaN
    where no block is curved upwards."""


class Measurement(NamedTuple):
    """Measurement of one state of a network; B tensors in the order of its blocks."""

    norms: Floats
    """[batch, B] Norm ||g_b||."""
    absolute: Floats
    """[batch, B] Norm ||g_b||_1."""
    nonzero: NDArray[np.int64]
    """[batch, B] Number of entries of g_b that are not zero."""
    curvatures: Floats
    """[curved batch, B] Largest eigenvalue of H_bb; NaN of biases, which are left out, and where
    training was lost, and 0 of tensors without a gradient."""
    products: NDArray[np.int64]
    """[curved batch, B] Number of Hessian-vector products that the eigenvalue took."""
    slopes: Floats
    """[curved batch, ...] Slopes, see `TriedSteps`."""
    bends: Floats
    """[curved batch, ...] Bends, see `TriedSteps`."""
    decreases: Floats
    """[curved batch, ...] Decreases, see `TriedSteps`."""


def recorded_steps(steps: int, number: int) -> NDArray[np.int64]:
    """Return the steps [number + 1] before each point: 0, and evenly spaced ones up to the last."""
    return np.unique(np.linspace(0, steps, number + 1).round().astype(np.int64))


def rate_share(schedule: Schedule, step: int, steps: int, warm_up: float) -> float:
    """Return the rate of a step divided by the rate, as transformers' trainer computes it.

    `step` is t, the steps before it, and `steps` T > t. It is 1 for `constant`, 1 - t/T for
    `linear` and (1 + cos(pi t/T))/2 for `cosine`. For `warmup` it is t/W below W, `warm_up`
    times T, rounded up, and (T - t)/(T - W) from there on, so that the first step moves nothing.
    """
    if schedule == "constant":
        return 1.0
    if schedule == "cosine":
        return (1 + cos(pi * step / steps)) / 2
    rising = -int(-warm_up * steps // 1) if schedule == "warmup" else 0
    if step < rising:
        return step / rising
    return (steps - step) / max(steps - rising, 1)
