"""Section 5.2: one oscillator that only turns, x' = Pi(x + eta Omega x), with |x| = 1.

Omega has a frequency for every plane, omega_1, ..., omega_K. Without normalisation the step's
eigenvalues are 1 +- i eta omega_k, all outside of the unit circle. With it, and with one omega for
all planes, |x + eta Omega x| = sqrt(1 + eta^2 omega^2) brings all of them onto the circle or into
it. With unequal omega that length is a mean over planes, and fast planes are not brought there.
"""

import torch
from torch import Tensor

from transformer_dynamics.recurrent_attention.theory.jacobian import Step, normalised_step
from transformer_dynamics.recurrent_attention.theory.recurrence import rotate_pairs


def rotation_matrix(frequencies: Tensor) -> Tensor:
    """Return Omega [2K, 2K] of pairs of channels (x_1, x_2) -> omega (x_2, -x_1), omega [K]."""
    of_channels = frequencies.repeat_interleave(2)
    return of_channels.unsqueeze(-1) * rotate_pairs(torch.eye(len(of_channels)).to(frequencies)).mT


def rotation_step(tokens: Tensor, frequencies: Tensor, eta: float) -> Step[Tensor]:
    """Return X' = Pi(X + eta Omega X) [..., 1, D] of one oscillator of K frequencies, D = 2K."""
    width = tokens.shape[-1]
    linear = torch.eye(width).to(tokens) + eta * rotation_matrix(frequencies)
    linear = linear.expand(*tokens.shape[:-2], width, width)
    return normalised_step(tokens @ linear.mT, linear, width)


def spectral_radius(matrix: Tensor) -> Tensor:
    """Return the largest |lambda| [...] of matrices [..., n, n]."""
    values: Tensor = torch.linalg.eigvals(matrix)
    return values.abs().amax(dim=-1)


def plane_eigenvalue(eta: float, omega: float, mean_square: float | None = None) -> complex:
    """Return the eigenvalue of positive imaginary part of a plane that does not see x.

    It is (1 + i eta omega)/sqrt(1 + eta^2 sum_k omega_k^2 |x_k|^2), where the sum over planes,
    `mean_square`, is omega_1^2 for an x in the first plane; without it there is no normalisation
    and no root.
    """
    length = 1.0 if mean_square is None else (1 + eta**2 * mean_square) ** 0.5
    return complex(1, eta * omega) / length
