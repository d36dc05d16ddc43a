"""One-step bounds over random quadratics, the cases in which they are equalities, and runs."""

from dataclasses import replace

import numpy as np
import pytest

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity, noise, quadratics
from transformer_dynamics.gradient_heterogeneity.theory.quadratics import METHODS

DRAWS = 1000
SHARES = (0.1, 1.0, 3.0)
"""Of the best rate."""


def drawn(count, scope, **kind):
    random = generator(0, scope)
    return (quadratics.draw_quadratic(random, **kind) for _ in range(count))


def test_no_step_gains_less_than_the_bound():
    """Coupled and indefinite; the bound must not be empty, either."""
    closest = []
    for q in drawn(DRAWS, "one step"):
        for method in METHODS:
            d = q.direction(method)
            best = quadratics.best_rate(q, d)
            scale = quadratics.best_decrease(q, d)
            for share in SHARES:
                bound = quadratics.sure_decrease(q, d, share * best)
                actual = q.decrease(-share * best * d)
                assert actual >= bound - 1e-11 * scale
            closest.append(scale / q.decrease(-best * d))
    assert min(closest) > 0
    assert np.median(closest) > 0.05


def test_best_rate_and_decrease_are_the_bounds_maximum():
    for q in drawn(50, "best"):
        for method in METHODS:
            d = q.direction(method)
            eta, best = quadratics.best_rate(q, d), quadratics.best_decrease(q, d)
            assert quadratics.sure_decrease(q, d, eta) == pytest.approx(best, rel=1e-10)
            for share in (0.99, 1.01):
                assert quadratics.sure_decrease(q, d, share * eta) < best


def test_direction_curvatures_are_those_of_the_methods():
    q = quadratics.draw_quadratic(generator(3, "curvatures"), coupled=False)
    q = replace(q, gradient=np.arange(1.0, len(q.gradient) + 1))
    h, norms = q.curvatures, np.sqrt(q.squares(q.gradient))
    by_gradient = heterogeneity.gradient_weighted(norms, h)
    by_size = heterogeneity.size_weighted(q.sizes, h)
    assert q.coupling == 0
    assert quadratics.curvature_along(q, q.gradient) == pytest.approx(by_gradient, rel=1e-12)
    assert quadratics.curvature_along(q, np.sign(q.gradient)) == pytest.approx(by_size, rel=1e-12)
    # The largest eigenvalues are those of the blocks themselves.
    for start, size, largest in zip(q.starts, q.sizes, h, strict=True):
        block = q.hessian[start : start + size, start : start + size]
        assert largest == pytest.approx(max(np.linalg.eigvals(block).real.max(), 0), rel=1e-9)


def test_isotropic_blocks_and_the_coupled_pair_reach_the_bound():
    random = generator(5, "tight")
    sizes = np.array([1, 4, 9])
    isotropic = quadratics.isotropic_quadratic(
        np.array([5.0, 0.1, 1.0]), sizes, random.normal(size=14)
    )
    pair = quadratics.coupled_pair(np.array([2.0, 0.5]), 0.7)
    assert pair.coupling == pytest.approx(0.7, rel=1e-12)
    for q in (isotropic, pair):
        for method in METHODS:
            for eta in (0.01, 0.3, 2.0):
                d = q.direction(method)
                bound = quadratics.sure_decrease(q, d, eta)
                assert q.decrease(-eta * d) == pytest.approx(bound, rel=1e-11)


def test_the_cubic_term_covers_a_hessian_that_changes():
    """A quadratic less rho sum_i sin theta_i, whose Hessian at 0 is that of the quadratic."""
    rho = 2.0
    for base in drawn(200, "cubic"):
        q = replace(base, gradient=base.gradient - rho)
        for method in METHODS:
            d = q.direction(method)
            for share in SHARES:
                eta = share * quadratics.best_rate(q, d)
                update = -eta * d
                actual = q.decrease(update) + rho * (np.sin(update) - update).sum()
                bound = quadratics.sure_decrease(q, d, eta, rho)
                assert actual >= bound - 1e-10 * abs(bound)
                assert bound < quadratics.sure_decrease(q, d, eta)


def test_without_curvature_no_rate_is_best():
    flat = quadratics.isotropic_quadratic(np.zeros(2), np.array([1, 1]), np.ones(2))
    with pytest.raises(InputError, match="no rate"):
        quadratics.best_rate(flat, flat.gradient)
    with pytest.raises(InputError, match="no best rate"):
        quadratics.block_rates(flat)
    with pytest.raises(InputError, match="positive definite"):
        quadratics.descend(flat, "sign", 0.1)


@pytest.mark.parametrize("method", METHODS)
def test_runs_end_within_the_iteration_bound(method):
    taken = []
    for q in drawn(15, "runs", definite=True):
        run = quadratics.descend(
            q, method, 0.3 * heterogeneity.densities(np.linalg.norm(q.gradient), len(q.gradient))
        )
        assert run.steps <= run.bound
        taken.append(run.steps)
    assert max(taken) > 3
    with pytest.raises(InputError, match="not reached"):
        quadratics.descend(q, method, 1e-9, most=2)


def test_the_euclidean_target_implies_the_absolute_one():
    """||g||_1 <= sqrt P ||g||, so that the same epsilon asks less of signs."""
    for q in drawn(100, "targets"):
        g, count = q.gradient, len(q.gradient)
        epsilon = np.linalg.norm(g) / np.sqrt(count)
        assert np.abs(g).sum() <= count * epsilon * (1 + 1e-12)


def test_block_rates_gain_what_is_promised():
    for q in drawn(100, "block rates", coupled=False, definite=True):
        norms, h = np.sqrt(q.squares(q.gradient)), q.curvatures
        promised = (norms**2 / h).sum() / 2
        step = quadratics.block_rates(q)
        assert q.decrease(-step) >= promised * (1 - 1e-12)
        assert quadratics.sure_decrease(q, step, 1.0) == pytest.approx(promised, rel=1e-10)
        gain = promised / quadratics.best_decrease(q, q.gradient)
        assert gain == pytest.approx(heterogeneity.block_rate_gain(norms, h), rel=1e-10)


def test_a_change_of_scale_is_one_of_rates():
    for q in drawn(50, "scales"):
        random = generator(len(q.gradient), "scale")
        s = np.exp(random.normal(size=len(q.sizes)))
        scaled, full = q.rescale(s), np.repeat(s, q.sizes)
        assert scaled.curvatures == pytest.approx(s**2 * q.curvatures, rel=1e-9, abs=1e-12)
        for method, rates in (("gradient", full**2), ("sign", full)):
            inner = -0.01 * scaled.direction(method)
            outer = -0.01 * rates * q.direction(method)
            assert full * inner == pytest.approx(outer, rel=1e-12)
            assert scaled.decrease(inner) == pytest.approx(q.decrease(outer), rel=1e-8, abs=1e-12)


def test_signs_stall_where_the_bound_ends():
    random = generator(6, "stall")
    h = np.repeat(np.array([0.1, 1.0, 8.0]), [30, 10, 5])
    eta = 1e-3
    level = quadratics.stall_level(h, eta)
    found = quadratics.stalled_gradient(h, random.normal(size=45), eta, 6000)
    assert found == pytest.approx(level, rel=1e-9)
    q = quadratics.isotropic_quadratic(
        np.array([0.1, 1.0, 8.0]), np.array([30, 10, 5]), np.full(45, level)
    )
    assert quadratics.sure_decrease(q, np.ones(45), eta) == pytest.approx(0, abs=1e-15)
    # Gradient descent at the same rate goes on to zero.
    assert abs((1 - 0.1 * eta) ** 200_000) < 1e-8


def noisy(count):
    random = generator(0, "noise")
    for _ in range(count):
        q = quadratics.draw_quadratic(random)
        yield q, np.exp(2 * random.normal(size=len(q.gradient))), int(random.integers(1, 65))


def test_no_noisy_step_gains_less_on_average():
    for q, deviations, batch in noisy(DRAWS):
        g = q.gradient
        by_markov, by_cantelli = (
            noise.wrong_sign_probability(g, deviations, batch, name)
            for name in ("Markov", "Cantelli")
        )
        assert np.all(by_cantelli <= by_markov)
        for share in SHARES:
            eta = share * quadratics.best_rate(q, g)
            actual = noise.sgd_mean(q, eta, deviations, batch)
            bound = noise.sgd_bound(q, eta, deviations, batch)
            assert actual >= bound - 1e-11 * (abs(actual) + abs(bound))
            eta = share * quadratics.best_rate(q, np.sign(g))
            actual = noise.sign_mean(q, eta, deviations, batch)
            bounds = [noise.sign_bound(q, eta, wrong) for wrong in (by_cantelli, by_markov)]
            assert actual >= bounds[0] - 1e-11 * (abs(actual) + abs(bounds[0]))
            assert bounds[0] >= bounds[1]


def test_the_average_start_has_half_of_markovs_constant():
    for q, deviations, batch in noisy(100):
        g, spread = np.abs(q.gradient), deviations / np.sqrt(batch)
        wrong = noise.wrong_sign_probability(g, deviations, batch, "Cantelli")
        assert np.all(2 * g * wrong <= spread * (1 + 1e-12))


def test_averages_are_those_of_drawn_noise():
    q = quadratics.draw_quadratic(generator(8, "sampled"))
    random = generator(9, "samples")
    deviations, batch, count = np.full(len(q.gradient), 0.7), 4, 40_000
    spread = deviations / np.sqrt(batch)
    drawn = q.gradient + spread * random.normal(size=(count, len(q.gradient)))
    for steps, mean in ((drawn, noise.sgd_mean), (np.sign(drawn), noise.sign_mean)):
        eta = 0.05
        square = np.einsum("si,ij,sj->s", steps, q.hessian, steps, optimize=True)
        gains = eta * steps @ q.gradient - eta**2 / 2 * square
        error = gains.std(ddof=1) / np.sqrt(count)
        assert abs(gains.mean() - mean(q, eta, deviations, batch)) < 4 * error


def test_gradients_of_two_values_reach_cantellis_bound():
    """0 and 2 with equal odds, of mean and deviation 1: half of the batches of one have no sign."""
    found = noise.wrong_sign_probability(np.array([1.0]), np.array([1.0]), 1, "Cantelli")
    assert found[0] == 0.5
    assert noise.wrong_sign_probability(np.array([1.0]), np.array([1.0]), 1, "Markov")[0] == 1
