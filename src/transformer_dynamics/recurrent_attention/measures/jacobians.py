"""The steps of trained models with their Jacobians, in the closed form of the theory."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn.functional import pad

from transformer_dynamics.recurrent_attention.attention import Weights
from transformer_dynamics.recurrent_attention.model_settings import Model
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    Step,
    akorn_step,
    itrsa_step,
    symmetric_step,
)


def closed_step(
    model: Model, parameters: Mapping[str, Tensor], weights: Weights, inputs: Tensor
) -> Callable[[Tensor], Step]:
    """One step of a trained model, `models.advance`, together with its Jacobian.

    Args:
        model: which model.
        parameters: `eta`, and `gamma` or `omega`, with the leading axes of the tokens or without.
        weights: the matrices of attention.
        inputs: C [..., S, D].

    Returns:
        Of tokens X [..., S, D], the step that begins at them.
    """
    given = weights._asdict() | {"inputs": inputs, "eta": parameters["eta"]}
    if model.projections == "hard":
        # W^Q_h and W^K_h have D_H/2 columns: those that are added are 0, and beta stays.
        given |= {name: _as_wide_as_heads(model, given[name]) for name in ("query", "key")}
    if model.kind == "akorn":
        given["omega"] = parameters["omega"]
        return lambda tokens: akorn_step(tokens, given, model.heads, model.block)
    if model.kind == "symmetric":
        return lambda tokens: symmetric_step(tokens, given)
    if model.normalised:
        given["gamma"] = parameters["gamma"]
    return lambda tokens: itrsa_step(
        tokens, given, model.heads, model.block, normalised=model.normalised
    )


def _as_wide_as_heads(model: Model, weight: Tensor) -> Tensor:
    """[..., D, D] a weight [..., D, D/2] with columns of zeros after those of every head."""
    blocks = weight.reshape(*weight.shape[:-1], model.heads, -1)
    return pad(blocks, (0, model.width // model.heads - blocks.shape[-1])).flatten(-2)


def is_finite(step: Step) -> bool:
    """Whether all of a step's tokens and all entries of its Jacobian are numbers."""
    return bool(torch.isfinite(step.tokens).all() and torch.isfinite(step.jacobian).all())
