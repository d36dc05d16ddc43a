"""The pseudo-energy, its Jacobians and eigenbases against autograd and dense algebra."""

from math import sqrt

import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.claims.pseudo_energy import identities
from transformer_dynamics.recurrent_attention.theory.attention import (
    Weights,
    attention,
    attention_probabilities,
)
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    attention_jacobian,
    value_output_matrices,
)
from transformer_dynamics.recurrent_attention.theory.pseudo_energy import (
    contribution,
    cosine_similarity,
    frozen_attention,
    frozen_jacobian,
    jacobian_along_tokens,
    leading_directions,
    log_beta_derivative,
    pseudo_energy,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
CASES = pytest.mark.parametrize(("size", "width", "heads"), [(1, 4, 1), (5, 6, 2), (4, 8, 4)])


def drawn(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def weights_of(width):
    return Weights(*(drawn(width, width, seed=seed) for seed in range(4)))


def literal(tokens, weights, heads, beta, shares=None):
    """MSA(X), head by head; with given P_h, if any."""
    width = weights.query.shape[-1] // heads
    total = torch.zeros_like(tokens)
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        scores = beta * tokens @ weights.query[:, own] @ weights.key[:, own].T @ tokens.T
        share = torch.softmax(scores, dim=-1) if shares is None else shares[head]
        total = total + share @ tokens @ weights.value[:, own] @ weights.output[own]
    return total


def jacobian(function, tokens):
    """That of a function of tokens, by autograd, as a matrix."""
    found = torch.autograd.functional.jacobian(function, tokens)
    return found.reshape(tokens.numel(), tokens.numel())


def test_pseudo_energy_is_minus_the_trace():
    tokens, drive = drawn(2, 3, 5, 4, seed=1), drawn(2, 3, 5, 4, seed=2)
    found = pseudo_energy(tokens, drive)
    assert found.shape == (2, 3)
    expected = -torch.trace(tokens[1, 2].T @ drive[1, 2])
    torch.testing.assert_close(found[1, 2], expected, **TIGHT)


@CASES
def test_change_of_attention_with_beta_is_that_of_autograd(size, width, heads):
    tokens, weights = drawn(size, width, seed=9), weights_of(width)
    log_beta = torch.tensor(-0.3, dtype=torch.float64)
    expected = torch.autograd.functional.jacobian(
        lambda logarithm: literal(tokens, weights, heads, logarithm.exp()), log_beta
    )
    found = log_beta_derivative(tokens, weights, heads, float(log_beta.exp()))
    torch.testing.assert_close(found, expected, **TIGHT)


@CASES
def test_jacobian_along_the_tokens_is_attention_and_its_change_with_beta(size, width, heads):
    tokens, weights, beta = drawn(size, width, seed=9), weights_of(width), 1 / sqrt(width / heads)
    matrix = jacobian(lambda x: literal(x, weights, heads, beta), tokens)
    attended, moved = jacobian_along_tokens(tokens, weights, heads, beta)
    expected = (matrix @ tokens.flatten()).reshape(tokens.shape)
    torch.testing.assert_close(attended, literal(tokens, weights, heads, beta), **TIGHT)
    torch.testing.assert_close(moved, expected, **TIGHT)
    identity = attended + 2 * log_beta_derivative(tokens, weights, heads, beta)
    torch.testing.assert_close(identity, expected, **TIGHT)
    # Neither part alone would do where there is something to attend to.
    if size > 1:
        assert not torch.allclose(attended, expected)
    exact = attention_jacobian(tokens, weights, heads, beta)
    torch.testing.assert_close(exact, matrix, rtol=1e-11, atol=1e-11)


@CASES
def test_jacobian_with_attention_held_still_takes_the_tokens_to_attention(size, width, heads):
    tokens, weights, beta = drawn(size, width, seed=9), weights_of(width), 0.4
    shares, mixed = (
        attention_probabilities(tokens, weights, heads, beta),
        value_output_matrices(weights, heads),
    )
    matrix = frozen_jacobian(shares, mixed)
    expected = jacobian(lambda x: literal(x, weights, heads, beta, shares), tokens)
    torch.testing.assert_close(matrix, expected, **TIGHT)
    kronecker = sum(torch.kron(*each) for each in zip(shares, mixed.mT.contiguous(), strict=True))
    torch.testing.assert_close(matrix, kronecker, **TIGHT)
    attended = attention(tokens, weights, heads, beta)
    torch.testing.assert_close(frozen_attention(tokens, shares, mixed), attended, **TIGHT)
    torch.testing.assert_close((matrix @ tokens.flatten()), attended.flatten(), **TIGHT)


def test_leading_axes_are_those_of_one_after_the_other():
    tokens, weights = drawn(3, 5, 6, seed=4), weights_of(6)
    attended, moved = jacobian_along_tokens(tokens, weights, 2, 0.5)
    shares = attention_probabilities(tokens, weights, 2, 0.5)
    matrices = frozen_jacobian(shares, value_output_matrices(weights, 2))
    for board, own in enumerate(tokens):
        alone = jacobian_along_tokens(own, weights, 2, 0.5)
        torch.testing.assert_close((attended[board], moved[board]), alone, **TIGHT)
        still = frozen_jacobian(shares[board], value_output_matrices(weights, 2))
        torch.testing.assert_close(matrices[board], still, **TIGHT)


def test_cosine_is_that_of_all_entries():
    first, second = drawn(2, 3, 4, seed=1), drawn(2, 3, 4, seed=2)
    found = cosine_similarity(first, second)
    expected = (first * second).sum((1, 2)) / first.norm(dim=(1, 2)) / second.norm(dim=(1, 2))
    torch.testing.assert_close(found, expected, **TIGHT)
    torch.testing.assert_close(
        cosine_similarity(first, -3 * first), -torch.ones(2).double(), **TIGHT
    )


def test_contribution_is_that_of_the_whole_eigenbasis():
    size, width, share = 10, 6, 0.05
    tokens, matrix = drawn(size, width, seed=5), drawn(60, 60, seed=6)
    values, vectors = np.linalg.eigh((matrix + matrix.T).numpy())
    coordinates = vectors[:, np.argsort(values)[::-1]].T @ tokens.flatten().numpy()
    expected = (coordinates[:3] ** 2).sum() / (coordinates**2).sum()
    basis = leading_directions(matrix, share)
    assert basis.shape == (60, 3)
    assert contribution(tokens, basis) == pytest.approx(expected, rel=1e-11)
    assert contribution(3 * tokens, basis) == pytest.approx(expected, rel=1e-11)
    assert contribution(tokens, leading_directions(matrix, 1.0)) == pytest.approx(1, rel=1e-12)


def test_largest_eigenvalues_lead_and_not_the_largest_absolute_ones():
    matrix = torch.diag(torch.tensor([1.0, -9.0, 3.0, 0.0], dtype=torch.float64))
    # An anti-symmetric part changes nothing.
    matrix[0, 1], matrix[1, 0] = 5, -5
    tokens = torch.tensor([[1.0, 5.0], [2.0, 1.0]], dtype=torch.float64)
    assert contribution(tokens, leading_directions(matrix, 0.25)) == pytest.approx(4 / 31)
    assert contribution(tokens, leading_directions(matrix, 0.5)) == pytest.approx(5 / 31)


def test_number_of_leading_directions_is_rounded_down_but_for_rounding():
    assert leading_directions(torch.eye(100).double(), 0.29).shape == (100, 29)
    assert leading_directions(torch.eye(99).double(), 0.029).shape == (99, 2)
    with pytest.raises(InputError, match=r"a share of 0\.02 of 49 directions is less than one"):
        leading_directions(torch.eye(49).double(), 0.02)


def test_identities_hold_in_every_case():
    table = identities()
    assert len(table) == 8
    assert (table["value"] < 1e-12).all()
