"""Jacobians as products against matrices, in float64."""

from functools import partial

import numpy as np
import pytest
import torch
from small_models import MODELS, boards, run

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    SPLIT,
    initial_conditions,
    seed_parameters,
    select_boards,
)
from transformer_dynamics.recurrent_attention.theory import exponents, products, pseudo_energy
from transformer_dynamics.recurrent_attention.theory.jacobian import step_with_jacobian
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights

LOOPS = 4
each_model = pytest.mark.parametrize("name", MODELS)


def trajectories(name):
    """The same steps with matrices and with products."""
    model = MODELS[name]
    _, own = next(seed_parameters([run(model)]))
    inputs, start = initial_conditions(model, own, select_boards(boards(), SPLIT, 1))
    steps = (
        partial(step, model, own, effective_weights(model, own), inputs=inputs[0])
        for step in (step_with_jacobian, products.step_by_products)
    )
    return [exponents.trajectory_steps(step, start[0], LOOPS) for step in steps]


@each_model
def test_a_step_and_its_products_are_those_of_the_matrix(name):
    random = torch.Generator().manual_seed(1)
    for dense, thin in zip(*trajectories(name), strict=True):
        frame = torch.randn(len(dense.jacobian), 3, generator=random, dtype=torch.float64)
        torch.testing.assert_close(thin.tokens, dense.tokens)
        torch.testing.assert_close(thin.jacobian @ frame, dense.jacobian @ frame)
        torch.testing.assert_close(thin.jacobian.mT @ frame, dense.jacobian.mT @ frame)
        assert thin.jacobian.shape == dense.jacobian.shape
        assert thin.is_finite


@each_model
def test_leading_exponents_are_those_of_the_matrices(name):
    dense, thin = trajectories(name)
    found, expected = (exponents.leading_exponents(steps, 5) for steps in (thin, dense))
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-12)


@pytest.mark.parametrize("name", ["itrsa by blocks", "unnormalised", "akorn"])
def test_the_mean_of_all_exponents_is_that_of_the_matrices(name, monkeypatch):
    """A trace is exact if the vectors are those of a basis."""
    monkeypatch.setattr(products, "PROBES", 32)
    monkeypatch.setattr(products, "TOLERANCE", 0)
    monkeypatch.setattr(products, "_signs", lambda like, number: torch.eye(32).to(like)[number])
    dense, thin = (steps[:2] for steps in trajectories(name))
    mean, error = products.mean_exponent(thin)
    assert mean == pytest.approx(float(exponents.mean_exponent(dense)), abs=1e-9)
    assert error > 0


def test_what_a_vector_cannot_tell_apart_is_found_exactly(monkeypatch):
    """The logarithm of a diagonal matrix has no random part: a single probe is enough."""
    values = torch.rand(12, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + 0.1
    matrix = torch.diag(values)
    step = products.Step(
        torch.zeros(1, 12, dtype=torch.float64),
        products.Products.of_matrix(matrix),
        torch.zeros(0, 12, dtype=torch.float64),
    )
    mean, error = products.mean_exponent([step] * 3)
    assert mean == pytest.approx(float(values.log().mean()), abs=1e-12)
    assert error < 1e-12


@each_model
def test_the_largest_eigenvalues_are_those_of_the_matrix(name):
    dense, thin = (steps[-1] for steps in trajectories(name))
    expected = torch.linalg.eigvals(dense.jacobian).numpy()
    found = products.largest_eigenvalues(thin.jacobian, 4)
    assert np.abs(found).max() == pytest.approx(np.abs(expected).max(), abs=1e-12)
    assert np.abs(found.imag).max() == pytest.approx(np.abs(expected.imag).max(), abs=1e-12)
    assert np.abs(found[:, None] - expected).min(axis=1).max() < 1e-10

    def times(values: np.ndarray, value: complex) -> int:
        return int((np.abs(values - value) < 1e-9).sum())

    # A matrix may have one several times: of a symmetric one the smallest are 0, up to rounding.
    assert all(times(found, each) <= times(expected, each) for each in found)


@each_model
def test_leading_directions_span_those_of_the_matrix(name):
    dense, thin = (steps[-1] for steps in trajectories(name))
    expected = pseudo_energy.leading_directions(dense.jacobian, 0.2)
    found = products.leading_directions(thin.jacobian, 0.2)
    torch.testing.assert_close(found @ found.mT, expected @ expected.mT)


def test_steps_that_leave_the_range_of_numbers_are_not_finite():
    _, thin = trajectories("itrsa")
    lost = products.Products.of(lambda tokens: tokens * torch.inf, thin[0].tokens)
    assert not thin[0]._replace(jacobian=lost).is_finite


def test_only_small_jacobians_are_written_down(monkeypatch):
    model = MODELS["itrsa"]
    _, own = next(seed_parameters([run(model)]))
    inputs, start = initial_conditions(model, own, select_boards(boards(), SPLIT, 1))
    made = partial(products.jacobian_step, model, own, effective_weights(model, own), inputs[0])
    assert isinstance(made()(start[0]).jacobian, torch.Tensor)
    monkeypatch.setattr(products, "MOST_ROWS", inputs[0].numel() - 1)
    assert isinstance(made()(start[0]).jacobian, products.Products)


@pytest.mark.parametrize("least", [0.0, torch.nan, 1e-9])
def test_a_step_that_is_too_ill_conditioned_has_no_mean(least, monkeypatch):
    """Its square has values that are rounding, and few iterations do not settle."""
    monkeypatch.setattr(products, "ITERATIONS", 8)
    values = torch.logspace(-9, 0, 30, dtype=torch.float64)
    values[0] = least
    turn = torch.linalg.qr(
        torch.randn(30, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ).Q
    step = products.Step(
        torch.zeros(1, 30, dtype=torch.float64),
        products.Products.of_matrix(turn @ torch.diag(values)),
        torch.zeros(0, 30, dtype=torch.float64),
    )
    assert np.isnan(products.mean_exponent([step] * 2)).all()


def test_what_cannot_be_found_is_said():
    lost = products.Products.of_matrix(torch.full((9, 9), torch.nan, dtype=torch.float64))
    with pytest.raises(InputError, match="eigenvalues were not found"):
        products.largest_eigenvalues(lost, 2)
    with pytest.raises(InputError, match="less than one"):
        products.leading_directions(lost, 0.1)
