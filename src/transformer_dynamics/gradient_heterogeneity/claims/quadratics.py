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
    draw,
    isotropic,
    stall_level,
    stalled,
    sure_decrease,
)

DRAWS = 1000
"""Quadratics."""
FACTORS = (0.1, 0.5, 1.0, 1.5, 4.0)
"""Of the best rate."""
DESCENTS = 100
"""Positive definite ones, coupled or not in turn."""
TARGET = 1e-2
"""Epsilon of a descent."""
SPREADS = (0.25, 0.5, 0.75)
"""Sigma of lognormal r_b."""
SLOPES = (0.0, 0.25, 0.5, 1.0, 1.5)
"""a of h_b ~ r_b^a."""
CURVED = {"curvature follows gradients": 1, "equal curvature": 0, "curvature opposes them": -1}
"""a, whether curvature follows the gradient's density."""
OTHERS = 200
"""Directions beside a method's own, of Gaussian entries, and as many of their signs."""
LENGTHS: dict[Method, float] = {"gradient": 2, "sign": np.inf}
"""Orders of norms."""
BLOCKS, ENTRIES = 100_001, 3
"""B and P_b of the lognormal family."""


def drawn(number: int) -> Quadratic:
    """One of the draws; every other one has no curvature between blocks."""
    return draw(generator(number, "quadratic of blocks"), coupled=number % 2 == 0)


@evidence
def excess_over_bounds() -> Cases:
    """Decrease minus what is sure, over the sum of the sizes of its parts; the least of a draw."""
    for number in range(DRAWS):
        quadratic = drawn(number)
        for method in METHODS:
            d = quadratic.direction(method)
            if curvature_along(quadratic, d) > 0:
                best = best_rate(quadratic, d)
                excess = min(_excess(quadratic, d, factor * best) for factor in FACTORS)
                yield f"draw {number}, {method}", excess


def _excess(quadratic: Quadratic, direction: heterogeneity.Floats, eta: float) -> float:
    """Of one step, relative to eta g.d + (eta^2/2) ||d||^2 (Lambda(d) + delta)."""
    sure = sure_decrease(quadratic, direction, eta)
    linear = eta * float(quadratic.gradient @ direction)
    return (quadratic.decrease(-eta * direction) - sure) / (2 * linear - sure)


@evidence
def tight_cases() -> Cases:
    """The same where the bound is an equality: blocks h_b I, and a pair with one coupling."""
    random = generator(0, "tight cases")
    sizes = np.array([3, 1, 5])
    single = isotropic(np.exp(random.normal(size=3)), sizes, random.normal(size=9))
    pair = coupled_pair(np.array([2.0, 0.0]), 0.7)
    for name, quadratic in (("h_b I", single), ("coupled pair", pair)):
        for method in METHODS:
            d = quadratic.direction(method)
            yield f"{name}, {method}", _excess(quadratic, d, 1.5 * best_rate(quadratic, d))


@evidence
def steps_over_bounds() -> Cases:
    """Steps to the target over the bound of the iteration."""
    for number in range(DESCENTS):
        random = generator(number, "definite quadratic of blocks")
        quadratic = draw(random, coupled=number % 2 == 0, definite=True)
        for method in METHODS:
            found = descend(quadratic, method, TARGET)
            if found.steps:
                yield f"draw {number}, {method}", found.steps / found.bound


@evidence
def hidden_density() -> Cases:
    """Least best step by signs over that by gradients, where Lambda_G is twice Lambda_P or more.

    Bounds of iterations promise signs half of the steps or fewer then.
    """
    yield "least of all draws", min(_promising())


def _promising() -> Iterator[float]:
    for number in range(DRAWS):
        quadratic = drawn(number)
        if quadratic.coupling == 0 and quadratic.curvatures.max() > 0:
            gradient, sign = (quadratic.direction(method) for method in METHODS)
            along = [curvature_along(quadratic, d) for d in (gradient, sign)]
            if along[1] > 0 and along[0] >= 2 * along[1]:
                yield best_decrease(quadratic, sign) / best_decrease(quadratic, gradient)


@evidence
def lognormal_advantages() -> Cases:
    """Best step by signs over best step by gradients, over kappa_in exp(sigma^2 (2a - 1)).

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
def cost_of_unequal_gradients() -> Cases:
    """Best sure step by gradients of unequal blocks over that of blocks with equal r_b.

    Curvatures, sizes and ||g|| are the same: h_b = r_b^a of the unequal ones, a lognormal family.
    """
    from scipy.stats import norm

    quantiles = norm.ppf((np.arange(BLOCKS) + 0.5) / BLOCKS)
    for name, slope in CURVED.items():
        for sigma in SPREADS:
            density = np.exp(sigma * quantiles)
            curvatures = density**slope
            equal, unequal = (
                heterogeneity.gradient_weighted(norms, curvatures)
                for norms in (np.ones(BLOCKS), density)
            )
            yield f"{name}, sigma = {sigma:g}", equal / unequal


@evidence
def steepest_directions() -> Cases:
    """Decrease per length of the method's direction over the most of all others that are tried.

    Lengths are Euclidean for gradients, and the largest entry's for signs.
    """
    for number in range(100):
        quadratic = drawn(number)
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
    """Sure decrease with a rate by block over that with one rate, over K, without coupling."""
    for number in range(100):
        random = generator(number, "blocks with curvature")
        quadratic = draw(random, coupled=False, definite=True)
        d = block_rates(quadratic)
        one = best_decrease(quadratic, quadratic.gradient)
        norms = np.sqrt(quadratic.squares(quadratic.gradient))
        gain = heterogeneity.block_rate_gain(norms, quadratic.curvatures)
        yield f"draw {number}", sure_decrease(quadratic, d, 1.0) / one / gain


@evidence
def reparametrised_steps() -> Cases:
    """Distance of a step on theta' from one on theta with its own rates, over their length.

    theta_b = s_b theta'_b: gradient steps have rates s_b^2, steps by signs s_b.
    """
    for number in range(100):
        quadratic = drawn(number)
        random = generator(number, "coordinates of blocks")
        scales = np.exp(random.normal(size=len(quadratic.sizes)))
        s = np.repeat(scales, quadratic.sizes)
        powers: dict[Method, int] = {"gradient": 2, "sign": 1}
        for method, power in powers.items():
            primed = s * quadratic.rescaled(scales).direction(method)
            own = s**power * quadratic.direction(method)
            yield f"draw {number}, {method}", np.linalg.norm(primed - own) / np.linalg.norm(own)


@evidence
def stall_levels() -> Cases:
    """Mean |g_i| at which sign descent stays over eta Lambda_P/2, on separable quadratics."""
    for number in range(20):
        random = generator(number, "separable quadratic")
        curvatures = np.exp(random.normal(size=50))
        start, eta = random.normal(size=50), float(np.exp(random.uniform(-6, -3)))
        level = stall_level(curvatures, eta)
        steps = int(np.abs(start).max() / eta) + 3
        yield f"draw {number}", stalled(curvatures, start, eta, steps) / level
