"""Average decrease of steps on quadratics when gradients are those of batches, see `theory.noise`.

Draws are those of `claims.quadratics`; standard deviations of entries are lognormal.
"""

from typing import NamedTuple

import numpy as np

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.gradient_heterogeneity.claims.quadratics import numbered_quadratic
from transformer_dynamics.gradient_heterogeneity.theory import noise
from transformer_dynamics.gradient_heterogeneity.theory.heterogeneity import Floats
from transformer_dynamics.gradient_heterogeneity.theory.quadratics import (
    Quadratic,
    best_rate,
    curvature_along,
)

DRAWS = 500
"""Number of quadratics with noise."""
FACTORS = (0.1, 0.5, 1.0, 1.5, 4.0)
"""Rates in units of the best rate without noise."""
SAMPLED, SAMPLES = 20, 40_000
"""Number of quadratics on which averages are drawn, and of batches of each."""


class Noisy(NamedTuple):
    """A quadratic whose gradient is that of a batch."""

    quadratic: Quadratic
    """Quadratic with the gradient g of all samples, and the Hessian H."""
    deviations: Floats
    """[P] Standard deviation s_i of each entry of a sample's gradient."""
    batch: int
    """Number m of samples in a batch."""


def numbered_case(number: int) -> Noisy:
    """Draw the quadratic of a number, and the noise of its batches."""
    quadratic = numbered_quadratic(number)
    random = generator(number, "noise of batches")
    deviations = np.exp(2 * random.normal(size=len(quadratic.gradient)))
    return Noisy(quadratic, deviations, int(random.integers(1, 65)))


@evidence
def excess_over_bounds() -> Cases:
    """Measure the least excess of the average decrease over its bound, over their sizes."""
    for number in range(DRAWS):
        case = numbered_case(number)
        q, g = case.quadratic, case.quadratic.gradient
        if curvature_along(q, g) > 0:
            rates = [factor * best_rate(q, g) for factor in FACTORS]
            excess = [
                _relative(noise.sgd_mean(q, eta, *case[1:]), noise.sgd_bound(q, eta, *case[1:]))
                for eta in rates
            ]
            yield f"draw {number}, gradient", min(excess)
        if curvature_along(q, np.sign(g)) > 0:
            for inequality in ("Markov", "Cantelli"):
                wrong = noise.wrong_sign_probability(g, *case[1:], inequality)
                rates = [factor * best_rate(q, np.sign(g)) for factor in FACTORS]
                excess = [
                    _relative(noise.sign_mean(q, eta, *case[1:]), noise.sign_bound(q, eta, wrong))
                    for eta in rates
                ]
                yield f"draw {number}, sign, {inequality}", min(excess)


def _relative(mean: float, bound: float) -> float:
    return (mean - bound) / (abs(mean) + abs(bound))


@evidence
def averages_of_draws() -> Cases:
    """Measure the average decrease over drawn batches minus the formula, in standard errors."""
    for number in range(SAMPLED):
        case = numbered_case(number)
        q, g = case.quadratic, case.quadratic.gradient
        random = generator(number, "batches of noise")
        spread = case.deviations / np.sqrt(case.batch)
        drawn_gradients = g + spread * random.normal(size=(SAMPLES, len(g)))
        for name, steps, formula in (
            ("gradient", drawn_gradients, noise.sgd_mean),
            ("sign", np.sign(drawn_gradients), noise.sign_mean),
        ):
            eta = 1 / (1 + q.coupling + q.curvatures.max())
            gains = eta * steps @ g - eta**2 / 2 * np.sum(steps @ q.hessian * steps, axis=1)
            error = gains.std(ddof=1) / np.sqrt(SAMPLES)
            expected = formula(q, eta, case.deviations, case.batch)
            yield f"draw {number}, {name}", (gains.mean() - expected) / error
