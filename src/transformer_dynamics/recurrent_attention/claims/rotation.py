"""Section 5.2: what normalisation does to the eigenvalues of a rotation, and where it does not."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.theory.bounds import spectral_norm
from transformer_dynamics.recurrent_attention.theory.exponents import (
    leading_exponents,
    trajectory_steps,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import unit_blocks
from transformer_dynamics.recurrent_attention.theory.rotation import (
    plane_eigenvalue,
    rotation_step,
    spectral_radius,
)

DIMENSIONS = (2, 4, 8, 16)
DRAWS = 50
LOOPS = 16
"""Number T of steps, that of the paper's exponents."""
PAIRS = ((1.0, 3.0), (0.5, 2.0), (0.1, 1.0))
"""Frequencies omega of the plane that x lies in, and of the other."""
FIRST_PLANE = torch.eye(4, dtype=torch.float64)[:1]
"""Token x [1, 4] in the first of two planes."""


@evidence
def equal_frequencies() -> Cases:
    """Return the largest |lambda| over 50 draws of x, omega in (0, 3) and eta in (0.01, 100)."""
    for dimension in DIMENSIONS:
        yield f"D = {dimension}", spectral_radius(_jacobians_of_equal_frequencies(dimension)).max()


@evidence
def norm_of_equal_frequencies() -> Cases:
    """Return the largest |J|_2 over the same draws, which no eigenvalue exceeds."""
    for dimension in DIMENSIONS:
        yield f"D = {dimension}", spectral_norm(_jacobians_of_equal_frequencies(dimension)).max()


@evidence
def unequal_frequencies() -> Cases:
    """Return the largest |lambda| at x in the plane of the smaller omega, eta = 1, D = 4."""
    for slow, fast in PAIRS:
        step = rotation_step(FIRST_PLANE, frequencies=_floats(slow, fast), eta=1.0)
        yield f"omega = {slow:g}, {fast:g}", spectral_radius(step.jacobian)


@evidence
def radius_of_unequal_frequencies() -> Cases:
    """Return |lambda| over sqrt((1 + eta^2 omega_2^2)/(1 + eta^2 omega_1^2)), for three eta."""
    for slow, fast in PAIRS:
        for eta in (0.1, 1.0, 10.0):
            step = rotation_step(FIRST_PLANE, frequencies=_floats(slow, fast), eta=eta)
            expected = abs(plane_eigenvalue(eta, fast, slow**2))
            name = f"omega = {slow:g}, {fast:g}, eta = {eta:g}"
            yield name, spectral_radius(step.jacobian) / expected


@evidence
def many_frequencies() -> Cases:
    """Return the largest |lambda| at random x, eight omega in (0.2, 3), eta = 2, by draw."""
    for draw in range(20):
        random = generator(draw, "planes of many frequencies")
        frequencies = torch.from_numpy(random.uniform(0.2, 3, 8))
        start = unit_blocks(torch.from_numpy(random.normal(size=(1, 16))), 16)
        step = rotation_step(start, frequencies=frequencies, eta=2.0)
        yield f"draw {draw}", spectral_radius(step.jacobian)


@evidence
def exponent_of_the_slow_orbit() -> Cases:
    """Return the largest exponent of 16 steps from x in the slow plane over ln|lambda|, eta = 1."""
    for slow, fast in PAIRS:
        found = _largest_exponent(FIRST_PLANE, _floats(slow, fast), LOOPS)
        expected = np.log(abs(plane_eigenvalue(1.0, fast, slow**2)))
        yield f"omega = {slow:g}, {fast:g}", found / expected


@evidence
def exponent_of_other_orbits() -> Cases:
    """Return the largest exponent of 400 steps from 20 random x, omega = 1 and 3, eta = 1."""
    for draw in range(20):
        start = unit_blocks(torch.from_numpy(generator(draw, "orbits").normal(size=(1, 4))), 4)
        yield f"draw {draw}", _largest_exponent(start, _floats(1.0, 3.0), 400)


def _jacobians_of_equal_frequencies(dimension: int) -> Tensor:
    """Return Jacobians [50, D, D] with one omega each."""
    random = generator(dimension, "planes of one frequency")
    omega = torch.from_numpy(random.uniform(0, 3, DRAWS))
    eta = 10 ** random.uniform(-2, 2, DRAWS)
    starts = unit_blocks(torch.from_numpy(random.normal(size=(DRAWS, 1, dimension))), dimension)
    frequencies = omega.unsqueeze(-1).expand(-1, dimension // 2)
    return torch.stack(
        [
            rotation_step(start, frequencies=own, eta=float(length)).jacobian
            for start, own, length in zip(starts, frequencies, eta, strict=True)
        ]
    )


def _largest_exponent(start: Tensor, frequencies: Tensor, loops: int) -> float:
    steps = trajectory_steps(partial(rotation_step, frequencies=frequencies, eta=1.0), start, loops)
    return float(leading_exponents(steps, 1)[0])


def _floats(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
