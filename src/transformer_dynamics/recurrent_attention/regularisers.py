"""What is added to the loss."""

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.attention import Weights


def energy_penalty(weights: Weights) -> Tensor:
    """R_E = |W^V W^O - (W^V W^O)^T|_F^2, one number per seed: R_E-single with one head."""
    product = weights.value @ weights.output
    return (product - product.mT).square().sum(dim=(-2, -1))


def spectral_penalty(weights: Weights) -> Tensor:
    """R_Spec = sum over W of (sigma(W)^2 - 1)^2, sigma the largest singular value.

    The paper adds |b|^4 of biases, which its formulas of attention do not have.
    """
    largest = torch.stack([torch.linalg.matrix_norm(matrix, ord=2) for matrix in weights])
    return (largest.square() - 1).square().sum(dim=0)
