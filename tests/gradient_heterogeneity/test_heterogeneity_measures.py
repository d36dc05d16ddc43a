"""Spreads over blocks against their definitions and against what is known of lognormal blocks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf, ndtri

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity as measures
from transformer_dynamics.gradient_heterogeneity.theory import quadratics


def lognormal(sigma, blocks=200_000):
    """Exactly spread, not drawn: quantiles at the middle of equal shares."""
    return np.exp(sigma * ndtri((np.arange(blocks) + 0.5) / blocks))


def test_gini_is_half_the_relative_mean_difference():
    x = generator(1, "gini").gamma(1.0, size=(3, 17))
    differences = np.abs(x[:, :, None] - x[:, None, :]).mean(axis=(1, 2))
    expected = differences / (2 * x.mean(axis=1))
    assert measures.gini(x) == pytest.approx(expected, rel=1e-12)
    shares = measures.lorenz(x)
    area = 1 - (shares[:, 1:] + shares[:, :-1]).mean(axis=1)
    assert measures.gini(x) == pytest.approx(area, rel=1e-12)


def test_gini_of_extreme_blocks():
    assert measures.gini([2.0, 2.0, 2.0]) == pytest.approx(0, abs=1e-15)
    assert measures.gini([0.0, 0.0, 0.0, 5.0]) == pytest.approx(3 / 4)
    for wrong in ([0.0, 0.0], [1.0, -1.0]):
        with pytest.raises(InputError, match="not negative and not all zero"):
            measures.gini(wrong)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 1.85])
def test_lognormal_blocks(sigma):
    x = lognormal(sigma)
    assert measures.gini(x) == pytest.approx(erf(sigma / 2), rel=1e-3)
    assert measures.log_spread(x) == pytest.approx(sigma, rel=1e-3)
    assert measures.extent(x) == pytest.approx(x[-1] / x[0])


def test_spreads_need_positive_values():
    for measure in (measures.log_spread, measures.extent):
        with pytest.raises(InputError, match="above zero"):
            measure([1.0, 0.0])


def test_alignment_finds_the_exponent_of_the_blocks_that_count():
    r = lognormal(1.0, 20)
    h = 3 * r**1.27
    h[4] = 0
    found = measures.alignment(h, r)
    assert found.slope == pytest.approx(1.27, rel=1e-12)
    assert found.rank == pytest.approx(1)
    assert found.blocks == 19
    with pytest.raises(InputError, match="three blocks"):
        measures.alignment([1.0, 2.0, 0.0], [1.0, 2.0, 3.0])


def test_unequal_densities_lower_kappa_by_their_variation():
    sizes = np.array([3, 50, 7, 200])
    r = np.array([4.0, 0.3, 1.0, 0.02])
    signs = np.sign(generator(2, "signs").normal(size=sizes.sum()))
    g = np.repeat(r, sizes) * signs
    blocks = quadratics.isotropic_quadratic(np.ones(4), sizes, g)
    norms = np.sqrt(blocks.squares(g))
    assert measures.densities(norms, sizes) == pytest.approx(r, rel=1e-12)
    dense = measures.kappa(np.abs(g).sum(), np.linalg.norm(g), len(g))
    assert dense == pytest.approx(1 / (1 + measures.variation(r, sizes) ** 2), rel=1e-12)
    drawn = generator(3, "kappa").normal(size=200_000)
    found = measures.kappa(np.abs(drawn).sum(), np.linalg.norm(drawn), len(drawn))
    assert found == pytest.approx(2 / np.pi, rel=0.01)
    one = np.eye(1, 50)[0]
    assert measures.kappa(one.sum(), np.linalg.norm(one), 50) == pytest.approx(1 / 50)


def test_advantage_is_the_ratio_of_the_best_steps():
    """Of uncoupled quadratics, where all entries have gradient."""
    for index in range(50):
        q = quadratics.draw_quadratic(generator(index, "advantage"), coupled=False)
        q = replace(q, gradient=generator(index, "gradient").normal(size=len(q.gradient)))
        norms = np.sqrt(q.squares(q.gradient))
        absolute = q.squares(np.sqrt(np.abs(q.gradient)))
        found = measures.advantage(q.sizes, norms, absolute, q.curvatures)
        by_method = [quadratics.best_decrease(q, q.direction(m)) for m in ("sign", "gradient")]
        assert found == pytest.approx(by_method[0] / by_method[1], rel=1e-10)


def test_heterogeneous_gradients_cost_nothing_without_unequal_curvature():
    norms = lognormal(2.0, 9)
    sizes = np.arange(1, 10)
    assert measures.gradient_weighted(norms, np.full(9, 3.0)) == pytest.approx(3, rel=1e-12)
    assert measures.size_weighted(sizes, np.full(9, 3.0)) == pytest.approx(3, rel=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_for_lognormal_blocks_the_direction_decides(slope):
    """Exponents above 1/2 favour signs; the many blocks have one entry each, so kappa_in is 1."""
    sigma = 0.5
    r = lognormal(sigma)
    found = measures.advantage(np.ones(len(r)), r, r, r**slope)
    expected = measures.lognormal_advantage(1.0, sigma, slope)
    assert found == pytest.approx(expected, rel=2e-3)
    assert np.sign(np.round(np.log(expected), 12)) == np.sign(slope - 0.5)


def test_block_rates_gain_at_least_one():
    norms, h = np.array([1.0, 2.0, 0.5]), np.array([4.0, 1.0, 9.0])
    w = norms**2 / (norms**2).sum()
    expected = (w @ h) * (w @ (1 / h))
    assert measures.block_rate_gain(norms, h) == pytest.approx(expected, rel=1e-12)
    assert measures.block_rate_gain(norms, np.full(3, 2.0)) == pytest.approx(1, rel=1e-12)
    drawn = generator(4, "rates").lognormal(0, 2, size=(2, 1000, 6))
    assert measures.block_rate_gain(*drawn).min() > 1
    with pytest.raises(InputError, match="above zero"):
        measures.block_rate_gain(norms, [1.0, 0.0, 2.0])
