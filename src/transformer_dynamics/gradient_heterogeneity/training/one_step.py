"""One step on the batch that it was computed from, against the decrease that curvature promises.

For a step u = -eta d, with g.d > 0 and h_b >= 0 the curvature of every block's own Hessian,

    sure decrease  eta g.d - (eta^2/2) sum_b h_b ||d_b||^2                              (1)
    eta* = g.d/sum_b h_b ||d_b||^2                                                      (2)

(1) is `theory.quadratics` without curvature between blocks (delta = 0) and without the third
derivative, which nobody knows of a network; so a network may gain less. At a rate f eta*, (1) is
f (2 - f) eta* g.d/2.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from transformer_dynamics.gradient_heterogeneity.settings.measuring import Measuring
from transformer_dynamics.gradient_heterogeneity.training.networks import Block, Network
from transformer_dynamics.gradient_heterogeneity.training.optimisers import Tensors
from transformer_dynamics.gradient_heterogeneity.training.record import (
    STEP_METHODS,
    TENSOR_SETS,
    Floats,
    StepMethod,
    TriedSteps,
)


def try_steps(
    network: Network,
    parameters: Mapping[str, Tensor],
    batch: Any,
    gradients: Mapping[str, Tensor],
    curvatures: Floats,
    measuring: Measuring,
) -> TriedSteps:
    """Try one step with every set of tensors, method and rate.

    Gradients and curvatures are of the batch; curvatures are [B], in the order of `network.blocks`,
    NaN of biases. `measuring` has the factors f, and the limit of rates by curvature.
    """
    factors = measuring.factors
    shape = (len(TENSOR_SETS), len(STEP_METHODS))
    slopes, bends = np.zeros(shape), np.zeros(shape)
    decreases = np.full((*shape, len(factors)), np.nan)
    before = _loss(network, parameters, batch)
    for i, chosen in enumerate(TENSOR_SETS):
        h = {
            name: max(float(value), 0.0)
            for (name, block), value in zip(network.blocks.items(), curvatures, strict=True)
            if _is_in(block, chosen)
        }
        for j, method in enumerate(STEP_METHODS):
            d = direction(method, gradients, h, measuring.limit)
            slopes[i, j] = sum(float((gradients[n].double() * d[n]).sum()) for n in d)
            bends[i, j] = sum(h[n] * float(d[n].double().square().sum()) for n in d)
            for k, factor in enumerate(factors if bends[i, j] > 0 else ()):
                eta = factor * slopes[i, j] / bends[i, j]
                moved = dict(parameters) | {n: parameters[n] - eta * d[n] for n in d}
                decreases[i, j, k] = before - _loss(network, moved, batch)
    return TriedSteps(slopes, bends, decreases)


def direction(
    method: StepMethod,
    gradients: Mapping[str, Tensor],
    curvatures: Mapping[str, float],
    limit: float,
) -> Tensors:
    """Return the direction d of a step of the tensors whose curvatures h_b >= 0 are given.

    Curvatures count as the median's share 1/limit at least.
    """
    if method == "gradient":
        return {name: gradients[name] for name in curvatures}
    if method == "sign":
        return {name: gradients[name].sign() for name in curvatures}
    floor = float(np.median(list(curvatures.values()))) / limit
    followed = {name: max(h, floor) for name, h in curvatures.items()}
    return {name: gradients[name] / h for name, h in followed.items() if h > 0}


def _is_in(block: Block, chosen: str) -> bool:
    return block.kind == "matrix" if chosen == "matrices" else block.kind != "bias"


def _loss(network: Network, parameters: Mapping[str, Tensor], batch: Any) -> float:
    loss, _ = network.evaluate(parameters, batch)
    return loss
