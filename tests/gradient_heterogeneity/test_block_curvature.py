"""Eigenvalues of diagonal blocks against a dense Hessian, and what the released iteration does."""

import pytest
import torch

from transformer_dynamics.gradient_heterogeneity.theory.curvature import (
    RELEASED,
    Iteration,
    block_product,
    top_eigenvalue,
)

TIGHT = Iteration(tolerance=1e-13, most=20_000, vectors=8, guard=1e-30)


def normal(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


PARAMETERS = {
    "first": normal(6, 4, seed=0),
    "gain": 1 + 0.1 * normal(6, seed=1),
    "second": normal(3, 6, seed=2),
}
INPUTS = normal(10, 4, seed=3)
LABELS = torch.arange(10) % 3


def loss(parameters):
    hidden = torch.tanh(INPUTS @ parameters["first"].T)
    hidden = torch.nn.functional.layer_norm(hidden, (6,), parameters["gain"])
    return torch.nn.functional.cross_entropy(hidden @ parameters["second"].T, LABELS)


def dense(name):
    tensor = PARAMETERS[name]

    def flat(vector):
        return loss({**PARAMETERS, name: vector.reshape(tensor.shape)})

    return torch.autograd.functional.hessian(flat, tensor.flatten())


def random():
    return torch.Generator().manual_seed(7)


@pytest.mark.parametrize("name", PARAMETERS)
def test_products_are_those_of_a_dense_hessian(name):
    product = block_product(loss, PARAMETERS, name)
    vector = normal(*PARAMETERS[name].shape, seed=5)
    expected = (dense(name) @ vector.flatten()).reshape(vector.shape)
    for _ in range(2):
        assert (product(vector) - expected).abs().max() < 1e-13


@pytest.mark.parametrize("name", PARAMETERS)
def test_eigenvalues_are_those_of_a_dense_hessian(name):
    values = torch.linalg.eigvalsh(dense(name))
    product = block_product(loss, PARAMETERS, name)
    found = top_eigenvalue(product, PARAMETERS[name], random(), TIGHT)
    assert found.eigenvalue == pytest.approx(float(values[-1]), rel=1e-6)
    # As released it stops early, never above: v.H v is at most the largest eigenvalue.
    released = top_eigenvalue(product, PARAMETERS[name], random())
    assert released.eigenvalue <= float(values[-1]) * (1 + 1e-9)
    assert released.products <= RELEASED.most * released.tried


def test_the_released_tolerance_is_usually_enough_and_sometimes_not():
    """Over random starts it is low by a few thousandths, and by a tenth in some of them."""
    largest = float(torch.linalg.eigvalsh(dense("first"))[-1])
    product = block_product(loss, PARAMETERS, "first")
    starts = [torch.Generator().manual_seed(seed) for seed in range(50)]
    found = [top_eigenvalue(product, PARAMETERS["first"], start) for start in starts]
    errors = torch.tensor([1 - each.eigenvalue / largest for each in found])
    assert 1e-4 < float(errors.median()) < 0.02
    assert float(errors.max()) > 0.05


def of_matrix(spectrum):
    rotation = torch.linalg.qr(normal(len(spectrum), len(spectrum), seed=6))[0]
    matrix = rotation * torch.tensor(spectrum, dtype=torch.float64) @ rotation.T
    return lambda vector: matrix @ vector


def test_negative_eigenvalues_are_deflated():
    product = of_matrix([-9.0, -6.0, 4.0, 1.0, -0.5])
    found = top_eigenvalue(product, torch.zeros(5, dtype=torch.float64), random(), TIGHT)
    assert found.tried == 3
    assert found.eigenvalue == pytest.approx(4, rel=1e-9)
    direction = product(found.vector) - 4 * found.vector
    assert float(direction.norm()) < 1e-5
    released = top_eigenvalue(product, torch.zeros(5, dtype=torch.float64), random())
    assert released.eigenvalue == pytest.approx(4, rel=0.02)


def test_five_larger_negative_ones_hide_a_positive_one():
    spectrum = [-9.0, -7.5, -6.0, -4.5, -3.0, 1.0]
    found = top_eigenvalue(of_matrix(spectrum), torch.zeros(6, dtype=torch.float64), random())
    assert found.tried == RELEASED.vectors
    assert found.eigenvalue < 0
    wider = RELEASED._replace(vectors=6)
    found = top_eigenvalue(
        of_matrix(spectrum), torch.zeros(6, dtype=torch.float64), random(), wider
    )
    assert found.eigenvalue == pytest.approx(1, rel=0.05)


def test_small_eigenvalues_are_taken_at_once():
    """The guard is larger than they are, so that any change is below the tolerance."""
    small = [1e-10 * value for value in (5.0, 4.0, 3.0, 1.0)]
    found = top_eigenvalue(of_matrix(small), torch.zeros(4, dtype=torch.float64), random())
    assert found.products == 2
    assert found.eigenvalue < 0.99 * small[0]
    exact = top_eigenvalue(of_matrix(small), torch.zeros(4, dtype=torch.float64), random(), TIGHT)
    assert exact.eigenvalue == pytest.approx(small[0], rel=1e-9)


def test_a_block_without_curvature_has_none():
    found = top_eigenvalue(torch.zeros_like, torch.zeros(4, dtype=torch.float64), random())
    assert found.eigenvalue == 0
    assert found.tried == RELEASED.vectors
