"""Bounds of one step and of whole descents on quadratics of several blocks, by many draws."""

from collections.abc import Iterator

import numpy as np

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity
from transformer_dynamics.gradient_heterogeneity.theory.quadratics import (
    METHODS,
    Method,
    Quadratic,
    best_decrease,
    best_rate,
    block_rates,
    coupled_pair,
    curvature_along,
    descend,
    draw_quadratic,
    isotropic_quadratic,
    stall_level,
    stalled_gradient,
    sure_decrease,
)

DRAWS = 1000
"""Number of quadratics that are drawn."""
FACTORS = (0.1, 0.5, 1.0, 1.5, 4.0)
"""Rates in units of the best rate."""
DESCENTS = 100
"""Number of descents on positive definite quadratics, coupled or not in turn."""
TARGET = 1e-2
"""Size epsilon of the gradient at which a descent ends."""
SPREADS = (0.25, 0.5, 0.75)
"""Standard deviations sigma of log r_b, r_b being lognormal."""
SLOPES = (0.0, 0.25, 0.5, 1.0, 1.5)
"""Exponents a of h_b ~ r_b^a."""
OTHERS = 200
"""Number of directions beside a method's own, of Gaussian entries, and of their signs."""
LENGTHS: dict[Method, float] = {"gradient": 2, "sign": np.inf}
"""Order of the norm that is the length of a step, by method."""
BLOCKS, ENTRIES = 100_001, 3
"""Number B of blocks of the lognormal family, and number P_b of entries of each."""


def numbered_quadratic(number: int) -> Quadratic:
    """Draw the quadratic of a number; every other one has no curvature between blocks."""
    return draw_quadratic(generator(number, "quadratic of blocks"), coupled=number % 2 == 0)


@evidence
def excess_over_bounds() -> Cases:
    """Measure the least excess of a decrease over its bound, over the sizes of its parts."""
    for number in range(DRAWS):
        quadratic = numbered_quadratic(number)
        for method in METHODS:
            d = quadratic.direction(method)
            if curvature_along(quadratic, d) > 0:
                best = best_rate(quadratic, d)
                excess = min(_excess(quadratic, d, factor * best) for factor in FACTORS)
                yield f"draw {number}, {method}", excess


def _excess(quadratic: Quadratic, direction: heterogeneity.Floats, eta: float) -> float:
    """Return the excess of one step over eta g.d + (eta^2/2) ||d||^2 (Lambda(d) + delta)."""
    sure = sure_decrease(quadratic, direction, eta)
    linear = eta * float(quadratic.gradient @ direction)
    return (quadratic.decrease(-eta * direction) - sure) / (2 * linear - sure)


@evidence
def tight_cases() -> Cases:
    """Measure the excess where the bound is an equality: blocks h_b I, and a coupled pair."""
    random = generator(0, "tight cases")
    sizes = np.array([3, 1, 5])
    single = isotropic_quadratic(np.exp(random.normal(size=3)), sizes, random.normal(size=9))
    pair = coupled_pair(np.array([2.0, 0.0]), 0.7)
    for name, quadratic in (("h_b I", single), ("coupled pair", pair)):
        for method in METHODS:
            d = quadratic.direction(method)
            yield f"{name}, {method}", _excess(quadratic, d, 1.5 * best_rate(quadratic, d))


@evidence
def steps_over_bounds() -> Cases:
    """Measure the steps to the target over the bound of the iteration."""
    for number in range(DESCENTS):
        random = generator(number, "definite quadratic of blocks")
        quadratic = draw_quadratic(random, coupled=number % 2 == 0, definite=True)
        for method in METHODS:
            found = descend(quadratic, method, TARGET)
            if found.steps:
                yield f"draw {number}, {method}", found.steps / found.bound


@evidence
def hidden_density() -> Cases:
    """Measure the least best step by signs over that by gradients, where Lambda_G >= 2 Lambda_P.

    Bounds of iterations promise signs half of the steps or fewer then.
    """
    yield "least of all draws", min(_promising())


def _promising() -> Iterator[float]:
    for number in range(DRAWS):
        quadratic = numbered_quadratic(number)
        if quadratic.coupling == 0 and quadratic.curvatures.max() > 0:
            gradient, sign = (quadratic.direction(method) for method in METHODS)
            along = [curvature_along(quadratic, d) for d in (gradient, sign)]
            if along[1] > 0 and along[0] >= 2 * along[1]:
                yield best_decrease(quadratic, sign) / best_decrease(quadratic, gradient)


@evidence
def lognormal_advantages() -> Cases:
    """Measure the best step by signs over that by gradients, over kappa_in exp(sigma^2 (2a - 1)).

    Blocks have r_b at even quantiles of a lognormal, equal |g_i| within and h_b = r_b^a.
    """
    from scipy.stats import norm

    quantiles = norm.ppf((np.arange(BLOCKS) + 0.5) / BLOCKS)
    for sigma in SPREADS:
        for slope in SLOPES:
            density = np.exp(sigma * quantiles)
            sizes = np.full(BLOCKS, float(ENTRIES))
            found = heterogeneity.advantage(
                sizes, density * ENTRIES**0.5, density * ENTRIES, density**slope
            )
            expected = heterogeneity.lognormal_advantage(1.0, sigma, slope)
            yield f"sigma = {sigma:g}, a = {slope:g}", found / expected


@evidence
def steepest_directions() -> Cases:
    """Measure the decrease per length of the method's direction over the most of all others.

    Lengths are Euclidean for gradients, and the largest entry's for signs.
    """
    for number in range(100):
        quadratic = numbered_quadratic(number)
        g = quadratic.gradient
        random = generator(number, "directions")
        others = random.normal(size=(OTHERS, len(g)))
        others = np.concatenate([others, np.sign(others), [g, np.sign(g)]])
        for method, order in LENGTHS.items():
            d = quadratic.direction(method)
            most = (others @ g / np.linalg.norm(others, ord=order, axis=1)).max()
            yield f"draw {number}, {method}", g @ d / np.linalg.norm(d, ord=order) / most


@evidence
def gain_of_block_rates() -> Cases:
    """Measure the sure decrease with a rate by block over that with one rate, over K."""
    for number in range(100):
        random = generator(number, "blocks with curvature")
        quadratic = draw_quadratic(random, coupled=False, definite=True)
        d = block_rates(quadratic)
        one = best_decrease(quadratic, quadratic.gradient)
        norms = np.sqrt(quadratic.squares(quadratic.gradient))
        gain = heterogeneity.block_rate_gain(norms, quadratic.curvatures)
        yield f"draw {number}", sure_decrease(quadratic, d, 1.0) / one / gain


@evidence
def reparametrised_steps() -> Cases:
    """Measure the distance of a step on theta' from one on theta with its rates, over their length.

    theta_b = s_b theta'_b: gradient steps have rates s_b^2, steps by signs s_b.
    """
    for number in range(100):
        quadratic = numbered_quadratic(number)
        random = generator(number, "coordinates of blocks")
        scales = np.exp(random.normal(size=len(quadratic.sizes)))
        s = np.repeat(scales, quadratic.sizes)
        powers: dict[Method, int] = {"gradient": 2, "sign": 1}
        for method, power in powers.items():
            primed = s * quadratic.rescale(scales).direction(method)
            own = s**power * quadratic.direction(method)
            yield f"draw {number}, {method}", np.linalg.norm(primed - own) / np.linalg.norm(own)


@evidence
def stall_levels() -> Cases:
    """Measure the mean |g_i| at which sign descent stays over eta Lambda_P/2."""
    for number in range(20):
        random = generator(number, "separable quadratic")
        curvatures = np.exp(random.normal(size=50))
        start, eta = random.normal(size=50), float(np.exp(random.uniform(-6, -3)))
        level = stall_level(curvatures, eta)
        steps = int(np.abs(start).max() / eta) + 3
        yield f"draw {number}", stalled_gradient(curvatures, start, eta, steps) / level
