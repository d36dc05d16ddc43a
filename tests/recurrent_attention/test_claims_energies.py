"""Evidence of the claims on energies: what it finds, and what would turn it."""

import numpy as np
import pytest

from transformer_dynamics.recurrent_attention.claims import energies
from transformer_dynamics.recurrent_attention.claims.energies import (
    EXCHANGE,
    draw_orthogonal,
    head_products,
    value_and_output,
)
from transformer_dynamics.recurrent_attention.theory.energy import asymmetry, energy_rate


def values(table):
    assert table.columns.tolist() == ["cell", "value"]
    assert table["cell"].is_unique
    return dict(zip(table["cell"], table["value"], strict=True))


def test_counterexamples_contradict_both_propositions():
    single, multi = values(energies.single_head()), values(energies.several_heads())
    assert single["K1"] == pytest.approx(0.272708, abs=1e-6)
    assert single["K1 with 2A"] == pytest.approx(3.563208, abs=1e-6)
    assert multi["K2, H = 1"] == pytest.approx(2.521136, abs=1e-6)
    assert multi["K2, H = 2"] == pytest.approx(2.521136, abs=1e-6)
    assert max(value for cell, value in single.items() if "symmetric" in cell) < 0


def test_corrected_propositions_hold():
    for measure in (energies.single_head_formula, energies.several_heads_formula):
        assert max(values(measure()).values()) < 1e-12
    for measure in (energies.single_head_symmetric, energies.several_heads_symmetric):
        assert max(values(measure()).values()) < 0


def test_energy_rises_in_many_random_states():
    found = values(energies.single_head_share())
    rising = [(energy_rate(*energies.random_family(s, e)) > 0).sum() for s, e in energies.FAMILIES]
    np.testing.assert_allclose(200 * np.array(list(found.values())), rising[:3])
    assert min(rising[:3]) > 10
    assert rising[3] < 10
    assert not (energy_rate(*energies.symmetric_family(4)) > 0).any()


def test_energy_falls_in_gaussian_states():
    assert max(values(energies.several_heads_share()).values()) < 0.005


def test_gradient_as_printed_is_wrong_where_the_propositions_fail():
    assert min(values(energies.printed_gradient()).values()) > 1


def test_penalty_is_zero_and_heads_are_not_symmetric():
    for seed in range(3):
        value, output = value_and_output(seed)
        for matrix in (value, output):
            np.testing.assert_allclose(matrix @ matrix.T, np.eye(16), atol=1e-13)
        product = value @ output
        assert np.linalg.norm(product - product.T) ** 2 < 1e-25  # R_E-multi
        np.testing.assert_allclose(head_products(value, output, 4).sum(axis=0), product, atol=1e-13)
    first, second = head_products(np.eye(2), EXCHANGE, 2)
    np.testing.assert_array_equal(first, [[0, 1], [0, 0]])
    np.testing.assert_array_equal(second, first.T)
    assert min(values(energies.heads_without_penalty()).values()) > 1
    assert max(values(energies.sum_without_penalty()).values()) < 1e-12
    # One head is all of the sum, and any other W^O would be punished.
    assert asymmetry(head_products(*value_and_output(0), 1)) < 1e-12
    assert asymmetry(draw_orthogonal(0, "values", 16)) > 0.5


def test_transpose_as_printed_is_another_matrix():
    assert min(values(energies.printed_transpose()).values()) > 0.5
