"""Prop. 4.4, printed and corrected, and the kernel of adapters in expectation."""

import numpy as np
import pytest
import torch

from transformer_dynamics.lp_ft.theory import kernel, lora, networks
from transformer_dynamics.lp_ft.theory.lora import Bound, draw_projections

RANKS = [2, 4, 8, 16, 32, 64, 128, 256]


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def pair(length):
    x = np.random.default_rng(0).normal(size=(2, 16))
    return length * x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("rank", RANKS)
def test_the_corrected_bound_holds(rank, uniform):
    first, second = pair(10.0)
    drawing = np.random.default_rng(rank)
    for epsilon in (0.3, 2 / 3):
        for other in (first, second):
            bound = Bound(rank, epsilon, length=10.0, deviation=0.7)
            a = draw_projections(drawing, (400, rank, 16), 0.7, uniform)
            above = np.mean(lora.deviations(bound, first, other, a) > bound.corrected_bound)
            assert above <= bound.failure


def test_the_printed_bound_fails_where_sigma_squared_r_c_is_above_one():
    first, _ = pair(10.0)
    bound = Bound(64, 2 / 3, length=10.0)
    a = draw_projections(np.random.default_rng(1), (400, 64, 16), 1.0, uniform=False)
    found = lora.deviations(bound, first, first, a)
    assert bound.failure < 0.5
    assert np.mean(found > bound.printed_bound) > 0.9 > bound.failure
    assert np.mean(found > bound.corrected_bound) <= bound.failure


def test_the_statement_is_void_at_the_papers_rank():
    assert Bound(37, 2 / 3).failure > 1 > Bound(38, 2 / 3).failure
    gaps = np.linspace(0.001, 0.999, 999)
    assert max(gaps**2 - gaps**3) <= 4 / 27
    assert 1 - Bound(8, 2 / 3).failure == pytest.approx(1 - 4 * np.exp(-8 / 27))


def test_the_mean_deviation_at_the_papers_rank():
    """<A x, A x> of Gaussian A is sigma^2 c^2 times a chi-square with r degrees of freedom."""
    first, _ = pair(2.0)
    bound = Bound(8, 2 / 3, length=2.0, deviation=0.5)
    a = draw_projections(np.random.default_rng(2), (4000, 8, 16), 0.5, uniform=False)
    found = lora.deviations(bound, first, first, a)
    drawn = np.random.default_rng(3).chisquare(8, 200_000)
    scale = 0.5**2 * 2.0**2
    assert found.mean() == pytest.approx(scale * np.abs(drawn - 8).mean(), rel=0.05)


NAMES = ("query", "value")


def adapters():
    network = networks.transformer_network(11, 5, 8, 3, random())
    tokens = torch.randint(0, 11, (4, 5), generator=random(3))
    jacobian = kernel.feature_jacobian(network.map, network.body, tokens)
    return network, tokens, {name: jacobian[name] for name in NAMES}


def test_the_kernel_of_adapters_is_that_of_autograd():
    network, tokens, jacobian = adapters()
    drawn = {name: torch.randn((2, 8), generator=random(8), dtype=torch.float64) for name in NAMES}
    alpha = 16.0

    def features(*factors):
        body = dict(network.body)
        for index, name in enumerate(NAMES):
            b, a = factors[2 * index : 2 * index + 2]
            body[name] = body[name] + alpha / 2 * b @ a
        return network.map(body, tokens)

    factors = [
        tensor
        for name in NAMES
        for tensor in (torch.zeros((8, 2), dtype=torch.float64), drawn[name])
    ]
    whole = torch.autograd.functional.jacobian(features, tuple(factors))
    assert all(not whole[index].any() for index in (1, 3))
    flat = torch.cat([part.flatten(2) for part in whole], dim=2)
    exact = kernel.feature_kernel(flat, flat)
    found = lora.adapted_kernel(jacobian, jacobian, drawn, alpha)
    assert (found - exact).abs().max() <= 1e-12 * exact.abs().max()


def test_in_expectation_adapters_give_a_multiple_of_full_fine_tuning():
    """Exactly: A runs over all rows sigma sqrt(d) e_i, whose mean of A^T A is sigma^2 r I."""
    network, _, jacobian = adapters()
    deviation, alpha = 0.3, 4.0
    rows = deviation * np.sqrt(8) * torch.eye(8, dtype=torch.float64)
    found = torch.stack(
        [
            lora.adapted_kernel(jacobian, jacobian, dict.fromkeys(NAMES, row[None]), alpha)
            for row in rows
        ]
    ).mean(0)
    flat = kernel.flatten_jacobian(jacobian)
    full = kernel.ft_effective_kernel(kernel.feature_kernel(flat, flat), network.head.weight)
    adapted = kernel.ft_effective_kernel(found, network.head.weight)
    scalar = lora.expected_scalar(deviation, 1, alpha)
    assert (adapted - scalar * full).abs().max() <= 1e-12 * adapted.abs().max()
    assert lora.scalar_factor(adapted, full) == pytest.approx(scalar, rel=1e-12)
    cosine = (adapted * full).sum() / (adapted.norm() * full.norm())
    assert float(cosine) == pytest.approx(1, rel=1e-12)


def test_the_factor_of_drawn_adapters_is_unbiased():
    _, _, jacobian = adapters()
    rank, alpha, draws = 2, 2.0, 400
    deviation = lora.kaiming_deviation(8)
    random = np.random.default_rng(5)
    shape = (draws, rank, 8)
    drawn = {
        name: torch.from_numpy(draw_projections(random, shape, deviation, uniform=True))
        for name in NAMES
    }
    flat = kernel.flatten_jacobian(jacobian)
    full = kernel.feature_kernel(flat, flat)
    factors = np.array(
        [
            lora.scalar_factor(
                lora.adapted_kernel(jacobian, jacobian, {n: drawn[n][i] for n in NAMES}, alpha),
                full,
            )
            for i in range(draws)
        ]
    )
    error = factors.std(ddof=1) / np.sqrt(draws)
    expected = lora.expected_scalar(deviation, rank, alpha)
    assert abs(factors.mean() - expected) < 4 * error
    assert error < 0.1 * expected


def test_scalars_of_the_released_code():
    """r = alpha = 8 at widths 768 and 384."""
    for width, scalar in ((768, 0.00347), (384, 0.00694)):
        found = lora.expected_scalar(lora.kaiming_deviation(width), 8, 8)
        assert found == pytest.approx(scalar, rel=1e-2)
