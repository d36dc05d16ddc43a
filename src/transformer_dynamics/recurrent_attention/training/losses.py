"""Losses: cross-entropy of the digits, and the paper's penalties R_E and R_Spec."""

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights


def cross_entropy(job: TrainJob, logits: Tensor, digits: Tensor, solutions: Tensor) -> Tensor:
    """Return the mean over all cells of the boards of every seed, or over blanks [seed], in nats.

    Logits are [seed, board, S, digits], givens (0 on blanks) and solutions [seed, board, S].
    """
    logs = torch.log_softmax(logits, dim=-1)
    right = logs.gather(-1, (solutions - 1).unsqueeze(-1)).squeeze(-1)
    if job.training.loss_cells == "all":
        return -right.flatten(1).mean(dim=1)
    blank = digits == 0
    return -(right * blank).flatten(1).sum(dim=1) / blank.flatten(1).sum(dim=1)


def penalty(job: TrainJob, parameters: Mapping[str, Tensor]) -> Tensor | float:
    """Return lambda times the penalty of the condition [seed], or 0 if it has none."""
    if job.penalty is None:
        return 0.0
    weights = effective_weights(job.model, parameters)
    return job.penalty.strength * PENALTIES[job.penalty.kind](weights)


def energy_penalty(weights: Weights) -> Tensor:
    """Return R_E = |W^V W^O - (W^V W^O)^T|_F^2 [seed]: R_E-single with one head."""
    product = weights.value @ weights.output
    return (product - product.mT).square().sum(dim=(-2, -1))


def spectral_penalty(weights: Weights) -> Tensor:
    """Return R_Spec = sum over W of (sigma(W)^2 - 1)^2 [seed], sigma the largest singular value.

    The paper adds |b|^4 of biases, which its formulas of attention do not have.
    """
    largest = torch.stack([torch.linalg.matrix_norm(matrix, ord=2) for matrix in weights])
    return (largest.square() - 1).square().sum(dim=0)


PENALTIES = {"energy": energy_penalty, "spectral": spectral_penalty}
"""Penalties by their name in the settings."""
